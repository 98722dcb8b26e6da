// SPDX-License-Identifier: Apache-2.0
#include <tally/report/metrics_file.hpp>

#include <unistd.h>

#include <limits>

#include <tally/base/build_info.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/writer.hpp>

#include "number_format.hpp"

namespace tally::report {
namespace {

// The attribute that marks the file; its value is the version of the layout (docs/formats.md).
constexpr const char* kMark = "tally_metrics";
constexpr std::string_view kConfusion = "/confusion";
constexpr std::string_view kClassNames = "/class_names";

// One value per bin in each dataset.
void write_reliability(hdf5::Writer& writer, const std::vector<metrics::ReliabilityBin>& bins) {
  if (bins.empty()) return;
  std::vector<double> low, high, confidence;
  std::vector<std::int64_t> count, correct;
  for (const auto& bin : bins) {
    low.push_back(bin.low);
    high.push_back(bin.high);
    count.push_back(bin.count);
    correct.push_back(bin.correct);
    // An empty bin has no mean, which a column of numbers can only say by NaN.
    confidence.push_back(bin.confidence.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  const Shape shape{std::ssize(bins)};
  writer.write("/reliability/low", shape, low);
  writer.write("/reliability/high", shape, high);
  writer.write("/reliability/count", shape, count);
  writer.write("/reliability/correct", shape, correct);
  writer.write("/reliability/confidence", shape, confidence);
}

void write_curves(hdf5::Writer& writer, bool is_binary, const std::vector<Curve>& curves) {
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const Curve& curve = curves[c];
    // A binary task has a single curve, and it is that of class 1.
    const std::size_t of_class = is_binary ? 1 : c;
    const auto write = [&](std::string_view name, const auto& values) {
      if (values.empty()) return;
      writer.write(format("/curves/{}/{}", of_class, name), {std::ssize(values)}, values);
    };
    write("roc_false_positive_rate", curve.false_positive_rate);
    write("roc_true_positive_rate", curve.true_positive_rate);
    write("roc_threshold", curve.roc_threshold);
    write("roc_includes_threshold", curve.roc_includes_threshold);
    write("precision", curve.precision);
    write("recall", curve.recall);
    write("threshold", curve.threshold);
  }
}

// What a reader needs to compute `state_digest` again.
void write_counts(hdf5::Writer& writer, const ExchangedCounts& counts) {
  if (counts.state.empty()) return;
  writer.write_strings("/state/layout", counts.layout);
  writer.write("/state/values", {std::ssize(counts.state)}, counts.state);
  writer.set_attribute("/state", "exchanged_bytes", counts.exchanged_bytes);
  if (counts.exchanged.empty()) return;
  const auto size = std::ssize(counts.exchanged);
  writer.create_dataset("/state/exchanged", DType::u8, {size});
  writer.write_rows("/state/exchanged", 0, size, counts.exchanged);
}

void write_content(hdf5::Writer& writer, const RunReport& report) {
  const auto& results = report.metrics.results;
  writer.set_attribute("/", kMark, 1);
  writer.set_attribute("/", "tally_version", build_info().version);
  writer.set_attribute("/", "state_digest", report.digests.state);
  writer.set_attribute("/", "task", report.metrics.task);
  writer.set_attribute("/", "num_classes", results.num_classes);
  const bool has_labels = task_traits(report.metrics.task).has_confusion_of_labels;
  // For several labels there is a table of two by two for each of them.
  const Shape matrix = has_labels ? Shape{results.num_classes, 2, 2}
                                  : Shape{results.num_classes, results.num_classes};
  if (!results.confusion.empty()) {
    writer.write(kConfusion, matrix, results.confusion);
    writer.set_attribute(kConfusion, "rows", "true class");
    writer.set_attribute(kConfusion, "columns", "predicted class");
    if (has_labels) writer.set_attribute(kConfusion, "tables", "label");
  }
  for (const auto& shares : results.confusion_shares) {
    writer.write("/" + shares.name, matrix, shares.values);
  }
  write_reliability(writer, results.reliability);
  write_curves(writer, is_task(report.metrics.task, TaskKind::binary), report.metrics.curves);
  write_counts(writer, report.metrics.counts);
  if (!report.metrics.class_names.empty())
    writer.write_strings(kClassNames, report.metrics.class_names);
}

}  // namespace

void write_metrics_file(const RunReport& report, const std::filesystem::path& path) {
  hdf5::Writer writer(path, hdf5::Writer::Mode::create, ErrorKind::output, "metrics file");
  try {
    write_content(writer, report);
    writer.close();
    // What the disk refuses late shows here at the latest, before the file gets its name.
    sync_file(path);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

std::vector<std::string> describe_metrics_file(const std::filesystem::path& path) {
  const hdf5::Reader reader(path, ErrorKind::usage, "metrics file");
  if (!reader.has_attribute("/", kMark)) {
    throw Error(ErrorKind::usage,
                format("'{}' is an HDF5 file, but no metrics file of tally (it has no attribute "
                       "'{}')",
                       printable(path.string()), kMark));
  }
  std::vector<std::string> lines{
      format("metrics of tally {}", printable(reader.string_attribute("/", "tally_version"))),
      format("state digest {}", printable(reader.string_attribute("/", "state_digest")))};
  for (const auto& name : reader.all_paths()) {
    if (reader.kind_of(name) == hdf5::ObjectKind::group) continue;
    const auto dataset = reader.dataset(name);
    const auto& info = dataset.info();
    lines.push_back(
        format("{}: {} {}", printable(name), hdf5::name(info.element), to_string(info.shape)));
  }
  // Files of older versions do not name the task.
  const bool is_of_classes = !reader.has_attribute("/", "task") ||
                             is_task(reader.string_attribute("/", "task"), TaskKind::multiclass);
  if (!reader.exists(kConfusion) && is_of_classes) {
    lines.push_back(
        format("no confusion matrix was kept for {} classes "
               "(--metrics, --confusion-max-classes)",
               grouped(reader.int64_attribute("/", "num_classes"))));
  }
  return lines;
}

}  // namespace tally::report
