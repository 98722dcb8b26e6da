// SPDX-License-Identifier: Apache-2.0
// `tally score` in process: what was saved is opened and scored on all ranks.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/aggregate/global_result.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

#include "comm_fixture.hpp"

namespace tally::app {

// What is left of a run of `tally score`.
struct Scored {
  LocalUnits local;
  GlobalResult global;                 // curves and what needs an order on rank 0
  std::optional<report::IdMatch> ids;  // complete on rank 0

  const metrics::Results& results() const { return global.results; }
};

// Keeps how many samples were done after each batch.
class BatchCounts : public LoopObserver {
 public:
  void batch_done(std::int64_t samples_done, const exact::State& /*state*/) override {
    counts_.push_back(samples_done);
  }
  const std::vector<std::int64_t>& all() const { return counts_; }

 private:
  std::vector<std::int64_t> counts_;
};

class ScoreTest : public comm::CommTest {
 protected:
  ScoreTest();
  ~ScoreTest() override;

  // Collective. The path of a file that `write` makes on rank 0.
  std::string file(const std::string& name,
                   const std::function<void(const std::filesystem::path& path)>& write);
  std::string text_file(const std::string& name, const std::string& text);
  // Collective. Which data set is scored from now on: a SampleFile, a TokenFile or the like.
  template <class File>
  void use_data(const File& data) {
    config_.files.data = file(std::to_string(num_files_++) + ".h5",
                              [&](const std::filesystem::path& path) { data.write(path); });
  }

  // Collective. A session that scores what is saved there.
  EvaluationSession open(const std::string& predictions, std::int64_t batch_size = 1);
  // Collective. The whole run, but for its files.
  Scored score(const EvaluationSession& session);
  Scored score(const std::string& predictions, std::int64_t batch_size = 1) {
    return score(open(predictions, batch_size));
  }
  // Collective. What score() throws, a line for each rank where it does.
  std::string loop_refusal(const EvaluationSession& session);

  // Collective. The texts of all ranks behind one another, on rank 0.
  std::string all_ranks(const std::string& local);

  config::RunConfig config_;
  Notes notes_;  // of this rank

 private:
  std::filesystem::path folder_;
  int num_files_ = 0;
};

// The sentence that all ranks end with, of this kind of failure.
std::string refusal_of(ErrorKind kind, const std::function<void()>& step);

// None also where there is no such metric, which is a failure of the test.
std::optional<double> value_of(const Scored& scored, std::string_view name);

// Rows of a column of texts, and of one of numbers, each with what ends it: "a,b,".
std::string texts_in(const predictions::PredictionLog& log, std::string_view column,
                     std::string_view end = ",");
std::string integers_in(const predictions::PredictionLog& log, std::string_view column);

}  // namespace tally::app
