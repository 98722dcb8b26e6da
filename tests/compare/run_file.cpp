// SPDX-License-Identifier: Apache-2.0
#include "run_file.hpp"

#include <algorithm>

#include <tally/base/task_traits.hpp>

namespace tally::compare {

namespace fs = std::filesystem;

RunFile::RunFile(const std::string& task, std::int64_t num_classes)
    : attributes_{{"task", task},
                  {"num_classes", std::to_string(num_classes)},
                  {"model", "net.pt"},
                  {"model_sha256", "aaaabbbbccccdddd"},
                  {"data", "val.h5"},
                  {"data_identity", "0123456789abcdef0123"},
                  {"digest", "feedfeed"},
                  {"outputs", "logits"},
                  {"definitions", "torchmetrics"},
                  {"calibration_bins", "15"},
                  {"label_smoothing", "0"},
                  {"curves", "exact"}} {
  const TaskTraits* traits = find_task_traits(task);
  if (traits != nullptr && traits->has_threshold) attributes_["threshold"] = "0.5";
}

RunFile& RunFile::attribute(const std::string& name, const std::string& text) {
  attributes_[name] = text;
  return *this;
}

RunFile& RunFile::version(std::int64_t number) {
  version_ = number;
  return *this;
}

RunFile& RunFile::without(const std::string& name) {
  EXPECT_EQ(columns_.erase(name) + attributes_.erase(name), 1U) << "there is no " << name;
  return *this;
}

fs::path RunFile::write(const fs::path& folder) const {
  fs::create_directories(folder);
  hdf5::Writer file(folder / "predictions.h5");
  for (const auto& [name, write_column] : columns_) write_column(file);
  file.set_attribute("/", "tally_predictions", version_);
  for (const auto& [name, text] : attributes_)
    file.set_attribute("/", name, std::string_view(text));
  file.close();
  return folder;
}

std::string case_name(const testing::TestParamInfo<Refusal>& info) { return info.param.name; }

Comparison RunFilesTest::compare(const RunFile& a, const RunFile& b, const Options& options) {
  const std::string suffix = ++num_pairs_ == 1 ? "" : std::to_string(num_pairs_);
  return compare_runs(a.write(in("a" + suffix)), b.write(in("b" + suffix)), options);
}

std::string RunFilesTest::refusal_of(const RunFile& a, const RunFile& b, ErrorKind kind,
                                     const std::vector<std::string>& metrics) {
  try {
    compare(a, b, {.metrics = metrics, .replicates = 2});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

const MetricDifference& metric_of(const Comparison& comparison, const std::string& name) {
  static const MetricDifference kNothing;
  const auto found = std::ranges::find(comparison.metrics, name, &MetricDifference::name);
  EXPECT_NE(found, comparison.metrics.end()) << name << " is not compared";
  return found == comparison.metrics.end() ? kNothing : *found;
}

std::vector<std::int64_t> counts_of(const Comparison& comparison) {
  if (!comparison.outcomes) return {};
  const ContingencyTable& table = comparison.outcomes->table;
  return {table.both_right, table.only_a_right, table.only_b_right, table.neither_right};
}

}  // namespace tally::compare
