// SPDX-License-Identifier: Apache-2.0
// Sessions of small data sets whose loop is over: what a model returned, or what was retained of
// the samples, is given by the test.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/metrics/results.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/sequence_record.hpp>
#include <tally/tasks/task.hpp>

#include "comm_fixture.hpp"
#include "raw_hdf5.hpp"
#include "token_file.hpp"

namespace tally::app {

using FileEdit = std::function<void(hid_t file)>;
// Adds the column /groups/site.
FileEdit with_sites(std::vector<std::int32_t> values);

// Only what the aggregation asks of a source.
class GivenScores : public ScoreSource {
 public:
  explicit GivenScores(bool are_units) : are_units_(are_units) {}
  bool runs_predictor() const override { return false; }
  bool is_rescoring_units() const override { return are_units_; }
  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override;

 private:
  bool are_units_;
};

class AggregateTest : public comm::CommTest {
 protected:
  AggregateTest();
  ~AggregateTest() override;

  // Collective. `file` is a SampleFile, a TokenFile or the like, which rank 0 writes and changes by
  // `edit`. Task, classes and targets of the options are those of the file.
  template <class File>
  EvaluationSession open(const File& file, const tasks::TaskOptions& options = {},
                         const FileEdit& edit = {}) {
    const auto path = folder_ / (std::to_string(num_files_++) + ".h5");
    if (world().is_root()) {
      file.write(path);
      if (edit) raw::edit(path, edit);
    }
    world().barrier();
    return open_written(path, options);
  }
  plan::SampleRange own_samples(const EvaluationSession& session) const {
    return session.plan.grid->samples_of(session.plan.slice);
  }

  // What the loop leaves on this rank where the model returns `outputs`, [N, values of a sample].
  LocalSamples score(const EvaluationSession& session, std::vector<float> outputs) const;
  // The same where it retained one of these records of each sample, in their order.
  LocalSamples retain(const EvaluationSession& session,
                      const std::vector<tasks::SequenceRecord>& all) const;

  // Collective. The values of all ranks, in rank order, are these on rank 0.
  template <class T>
  void expect_on_all_ranks(const std::vector<T>& local, const std::vector<T>& expected) {
    std::string found;
    for (const std::string& text : world().gather(format("{}", fmt::join(local, " ")))) {
      found += text.empty() || found.empty() ? text : " " + text;
    }
    if (!world().is_root()) return;
    EXPECT_EQ(found, format("{}", fmt::join(expected, " ")));
  }

  config::RunConfig config_;
  std::int64_t batch_size_ = 1;

 private:
  EvaluationSession open_written(const std::filesystem::path& path, tasks::TaskOptions options);

  std::filesystem::path folder_;
  int num_files_ = 0;
};

// The sentence that all ranks end with, of this kind of failure.
std::string refusal_of(ErrorKind kind, const std::function<void()>& step);

// None also where there is no such metric, which is a failure of the test.
std::optional<double> value_of(const metrics::Results& results, std::string_view name);

// A column of fixed rows, and the elements of a ragged one as text.
template <class T>
std::vector<T> column_of(const predictions::PredictionLog& log, std::int64_t column) {
  const std::int64_t bytes = log.num_rows() * log.columns().at(to_size(column)).row_bytes();
  std::vector<T> values(to_size(bytes) / sizeof(T));
  log.read(column, 0, log.num_rows(), std::as_writable_bytes(std::span(values)));
  return values;
}
std::string text_of(const predictions::PredictionLog& log, std::int64_t column);

// Documents of as many windows each, all of two tokens; document u has u + 1 bytes.
data::TokenFile documents(std::int64_t count, std::int64_t windows);
// A record for each row: one of its tokens is right, all are among the five most likely ones.
std::vector<tasks::SequenceRecord> records_of(const data::TokenFile& file,
                                              const std::vector<double>& losses);

}  // namespace tally::app
