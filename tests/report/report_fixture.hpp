// SPDX-License-Identifier: Apache-2.0
// A report like that of a small run, and a folder for files.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/report/console_table.hpp>
#include <tally/report/describe_report.hpp>
#include <tally/report/metrics_file.hpp>
#include <tally/report/report_json.hpp>
#include <tally/report/run_report.hpp>

namespace tally::report {

inline std::vector<metrics::MetricValue> values(std::optional<double> precision,
                                                std::optional<double> recall,
                                                std::optional<double> f1) {
  return {{"precision", precision}, {"recall", recall}, {"f1", f1}};
}

// Three classes, ten samples: one ignored, seven of nine right.
inline RunReport small_report() {
  RunReport report;
  report.metrics.task = "multiclass";
  report.metrics.definitions = "torchmetrics";
  auto& results = report.metrics.results;
  results.units.count = 10;
  results.units.index_sum = 45;
  results.units.index_mix = 0xfedcba9876543210u;
  results.counts.scored = 9;
  results.counts.ignored = 1;
  results.counts.tied = 2;
  results.num_classes = 3;
  results.metrics = {{"accuracy", 7.0 / 9.0, metrics::Proportion{7, 9}},
                     {"loss", 0.1},
                     {"precision_macro", std::nullopt}};
  results.per_class = {{0, 4, 5, 4, values(0.8, 1.0, 8.0 / 9.0)},
                       {1, 5, 4, 3, values(0.75, 0.6, 2.0 / 3.0)},
                       {2, 0, 0, 0, values(std::nullopt, std::nullopt, std::nullopt)}};
  results.confusion = {4, 0, 0, 1, 3, 1, 0, 0, 0};
  report.coverage.expected = {10, 45, 0xfedcba9876543210u};
  report.coverage.total_samples = 1234;
  report.coverage.total_units = 1200;
  report.metrics.class_names = {"cat", "dog", "bird"};
  report.digests.state = std::string(64, 'a');
  report.digests.predictions = std::string(64, 'b');
  report.digests.digest_class = std::string(64, 'c');
  report.digests.inputs = std::string(64, 'f');
  report.execution.batch_size = 4;
  report.execution.num_batches = 3;
  report.execution.balance = 0.75;
  report.timing.wall_s = 1.5;
  report.timing.startup_s = 0.25;
  report.timing.steady_samples_per_s = 1e5 / 3.0;
  report.timing.phases = {{"load_model", 0.1, 0.2, 0.3}, {"evaluate", 1, 2, 3}};
  report.timing.publish_s = 0.3;
  report.timing.ranks = {{0, "node1", "cpu: EPYC", 8, 0.1, 0.2, 0.3},
                         {1, "node2", "cuda: H200", 2, 0, 0, 0, "GPU-1"}};
  report.timing.ranks[0].loop = {2.0, 0.5, 0.125, 1.0, 0.25, 0.0};
  report.timing.ranks[0].wait_for_ranks_s = 0.75;
  report.timing.ranks[0].bytes_read = 4096;
  report.timing.ranks[0].bytes_needed = 4000;
  report.timing.ranks[1].loop.wait_s = 0.1;
  report.timing.ranks[1].energy_j = 20.0;
  report.execution.reduction = {"mpi", true};
  report.provenance.settings = {{"model", "m.pt"}, {"batch-size", "4"}};
  report.provenance.environment = {{"libtorch", "2.11.0"}, {kModelForm, "TorchScript, frozen"}};
  report.inputs.model = {"m.pt", 1000, std::string(64, 'd')};
  report.inputs.data = {"d.h5", 2000000, std::string(64, 'e')};
  report.notes = {"a note"};
  report.diagnosis = {{"chance", "It guesses"}};
  return report;
}

// Gone, with all in it, at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              format("tally-report-{}-{}", getpid(), ++num_made)) {
    std::filesystem::create_directory(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  static inline int num_made = 0;
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace tally::report
