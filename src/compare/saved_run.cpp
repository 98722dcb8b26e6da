// SPDX-License-Identifier: Apache-2.0
#include "saved_run.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/printable.hpp>

namespace tally::compare {
namespace {

// The root attribute that marks the file, and the version of its layout (docs/formats.md).
constexpr const char* kMark = "tally_predictions";
constexpr std::int64_t kVersion = 1;
// Scores are read in pieces of this size, for a column of them may exceed the memory.
constexpr std::int64_t kWindowBytes = std::int64_t{8} << 20;

// Error(usage) tells apart a path that is wrong, a result that saved no predictions and a folder
// that is no result, because the next step differs.
std::filesystem::path predictions_of(const std::filesystem::path& given) {
  std::error_code ignored;
  const std::string shown = printable(given.string());
  if (!std::filesystem::exists(given, ignored)) {
    throw Error(ErrorKind::usage, format("'{}' does not exist", shown),
                "Give two result folders of 'tally evaluate'.");
  }
  if (!std::filesystem::is_directory(given, ignored)) return given;
  auto file = given / "predictions.h5";
  if (std::filesystem::exists(file, ignored)) return file;
  if (std::filesystem::exists(given / "report.json", ignored)) {
    throw Error(ErrorKind::usage, format("result '{}' has no predictions.h5", shown),
                "Evaluate again with --save labels.");
  }
  throw Error(
      ErrorKind::usage,
      format("'{}' is no result folder (it has no report.json and no predictions.h5)", shown),
      "Give two result folders of 'tally evaluate'.");
}

hdf5::Reader open_predictions(const std::filesystem::path& path) {
  hdf5::Reader reader(path, ErrorKind::dataset, "predictions file");
  // Links and external storage could have this process read files other than the given one.
  reader.refuse_indirections();
  const bool marked = reader.has_attribute("/", kMark);
  if (marked && reader.int64_attribute("/", kMark) == kVersion) return reader;
  throw Error(ErrorKind::dataset,
              format("file '{}' holds no predictions (its root attribute '{}' is {})",
                     printable(path.string()), kMark,
                     marked ? reader.attribute_text("/", kMark) : "missing"),
              "Give a predictions.h5 that this version of 'tally evaluate' wrote.");
}

// Samples are paired by position. Ascending indices that are equal in both runs mean the same
// samples, each of them once.
void require_ascending(const SavedRun& run) {
  std::int64_t before = -1;
  for (std::size_t row = 0; row < run.indices().size(); ++row) {
    const std::int64_t index = run.indices()[row];
    if (index <= before) {
      run.throw_dataset_error("index", row, format("{}", index), format("more than {}", before));
    }
    before = index;
  }
}

[[noreturn]] void refuse_pair(const SavedRun& a, const SavedRun& b, std::string_view difference,
                              std::string_view next_step) {
  throw Error(ErrorKind::dataset,
              format("{} and {} are not of the same samples: {}", a.name(), b.name(), difference),
              next_step);
}

}  // namespace

SavedRun::SavedRun(const std::filesystem::path& given)
    : path_(predictions_of(given)), reader_(open_predictions(path_)) {
  info_ = {.path = given.string(),
           .model = attribute("model"),
           .model_sha256 = attribute("model_sha256"),
           .weights_sha256 = find_attribute("weights_sha256").value_or(""),
           .predictions_digest = attribute("digest"),
           .data = find_attribute("data").value_or(""),
           .data_identity = find_attribute("data_identity").value_or("")};
  // open() compares the number of rows with that of the index, which is not known yet.
  const hdf5::Dataset index = [&] {
    if (has_column("index")) return reader_.dataset("/index");
    return open("index", "labels", {});  // throws: its message names --save labels
  }();
  if (index.info().shape.size() != 1) {
    throw Error(ErrorKind::dataset,
                format("predictions file '{}', /index is {}, expected [samples]", name(),
                       to_string(index.info().shape)));
  }
  indices_ = index.read_all<std::int64_t>();
  require_ascending(*this);
}

std::string SavedRun::name() const { return printable(path_.string()); }

std::vector<std::string> SavedRun::class_names() const {
  // The names only make lists easier to read. A predictions.h5 may have been moved without this
  // file; then classes go by number.
  const auto metrics = path_.parent_path() / "metrics.h5";
  std::error_code ignored;
  if (!std::filesystem::exists(metrics, ignored)) return {};
  const hdf5::Reader reader(metrics, ErrorKind::dataset, "metrics file");
  if (!reader.exists("/class_names")) return {};
  auto names = reader.dataset("/class_names").read_strings();
  for (std::string& class_name : names) class_name = printable(class_name);
  return names;
}

std::optional<std::string> SavedRun::find_attribute(std::string_view name) const {
  if (!reader_.has_attribute("/", name)) return std::nullopt;
  return reader_.string_attribute("/", name);
}

std::string SavedRun::attribute(std::string_view attribute) const {
  if (auto text = find_attribute(attribute)) return *std::move(text);
  throw Error(ErrorKind::dataset,
              format("predictions file '{}' has no attribute '{}'", name(), attribute),
              "Evaluate again with this version of tally.");
}

bool SavedRun::has_column(std::string_view name) const {
  return reader_.exists(format("/{}", name));
}

hdf5::Dataset SavedRun::open(std::string_view column, std::string_view save,
                             const Shape& row_shape) const {
  if (!has_column(column)) {
    throw Error(ErrorKind::dataset,
                format("predictions file '{}' has no column '{}'", name(), column),
                format("Evaluate again with --save {}.", save));
  }
  const Shape expected = shape_of_rows(num_samples(), row_shape);
  // A ragged column (docs/formats.md) is a group with the name of the column.
  if (reader_.kind_of(format("/{}", column)) == hdf5::ObjectKind::group) {
    throw Error(
        ErrorKind::dataset,
        format("predictions file '{}', /{} is a group, as of rows of any length, expected {}",
               name(), column, to_string(expected)));
  }
  hdf5::Dataset dataset = reader_.dataset(format("/{}", column));
  if (dataset.info().shape == expected) return dataset;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{} is {}, expected {}", name(), column,
                     to_string(dataset.info().shape), to_string(expected)));
}

hdf5::Dataset SavedRun::rows(std::string_view column, std::string_view save,
                             const Shape& row_shape) const {
  hdf5::Dataset dataset = open(column, save, row_shape);
  dataset.require_element(hdf5::Element::f32);
  return dataset;
}

void SavedRun::for_each_window(std::string_view column, const Shape& row_shape,
                               const VisitRows& visit) const {
  const hdf5::Dataset dataset = rows(column, column, row_shape);
  const std::int64_t window = std::max<std::int64_t>(1, kWindowBytes / dataset.info().row_bytes());
  std::vector<float> room(to_size(std::min(window, num_samples()) * num_elements(row_shape)));
  for (std::int64_t first = 0; first < num_samples(); first += window) {
    const std::int64_t count = std::min(window, num_samples() - first);
    const auto values = std::span(room).first(to_size(count * num_elements(row_shape)));
    dataset.read_rows(first, count, std::as_writable_bytes(values));
    visit(first, count, values);
  }
}

void SavedRun::throw_dataset_error(std::string_view column, std::size_t row, std::string_view value,
                                   std::string_view expected) const {
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{}[{}] = {}, expected {}", name(), column, row, value,
                     expected),
              "The file is damaged: evaluate again.");
}

namespace {

// The data set may have been moved or renamed; its identity counts, not its path. Labels are
// compared later, by the readers of each task, which know the type of the column.
std::optional<std::string> require_same_data(const SavedRun& a, const SavedRun& b) {
  const std::string identity_a = printable(a.attribute("data_identity"));
  const std::string identity_b = printable(b.attribute("data_identity"));
  if (identity_a == identity_b) return std::nullopt;
  const auto samples_a = a.find_attribute("data_samples").value_or("");
  const auto samples_b = b.find_attribute("data_samples").value_or("");
  if (samples_a.empty() || samples_a != samples_b) {
    refuse_pair(a, b, format("data_identity is {:.16}… and {:.16}…", identity_a, identity_b),
                "Evaluate both models on one data set. Data sets that prepare the same samples "
                "differently need names of samples (/samples/name) and checksums.");
  }
  return format("A and B are of the same samples, prepared differently: B's data set is {}",
                printable(b.attribute("data")));
}

}  // namespace

// Scores of some classes alone, and labels that are numbered otherwise, are of no common measure.
void require_same_classes(const SavedRun& a, const SavedRun& b) {
  const auto differ = [&](std::string_view attribute) {
    return a.find_attribute(attribute) != b.find_attribute(attribute);
  };
  if (differ("valid_classes_sha256")) {
    throw Error(ErrorKind::dataset,
                format("{} and {} were not scored among the same classes (--valid-classes)",
                       a.name(), b.name()),
                "Evaluate both with the same --valid-classes.");
  }
  if (!differ("classes_by")) return;
  throw Error(ErrorKind::dataset,
              format("of {} and {} one numbers the classes as its model does (--classes-by name), "
                     "the other as the data set",
                     a.name(), b.name()),
              "Evaluate both in one way.");
}

std::optional<std::string> require_same_samples(const SavedRun& a, const SavedRun& b) {
  const std::string task_a = printable(a.attribute("task"));
  const std::string task_b = printable(b.attribute("task"));
  if (task_a != task_b) {
    throw Error(ErrorKind::usage,
                format("{} and {} are of the tasks {} and {}", a.name(), b.name(), task_a, task_b),
                "Give two results of one task.");
  }
  require_same_classes(a, b);
  auto note = require_same_data(a, b);
  if (a.num_samples() != b.num_samples()) {
    refuse_pair(a, b, format("there are {} and {}", a.num_samples(), b.num_samples()),
                "Evaluate both with the same --limit.");
  }
  const auto [in_a, in_b] = std::ranges::mismatch(a.indices(), b.indices());
  if (in_a == a.indices().end()) return note;
  refuse_pair(a, b, format("/index[{}] is {} and {}", in_a - a.indices().begin(), *in_a, *in_b),
              "Evaluate both models on the same samples.");
}

}  // namespace tally::compare
