// SPDX-License-Identifier: Apache-2.0
// Sessions of small data sets before their loop: the test says what the model is and what it gives.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>

#include "comm_fixture.hpp"

namespace tally::app {

// A model that is no network. It gives [rows, num_scores] of one score, which a call may change.
class GivenPredictor final : public model::Predictor {
 public:
  explicit GivenPredictor(std::int64_t num_scores) : num_scores_(num_scores) {}

  model::Outputs predict(std::span<const TensorView> inputs) override;
  const std::optional<model::ModelCard>& card() const override { return model_card; }
  std::vector<std::string> argument_names() const override { return arguments; }
  model::Determinism determinism() const override { return found; }
  void use(const model::CpuExecutionSettings& way) override { used.push_back(way); }
  void exclude_classes(const std::vector<std::int64_t>& classes) override { excluded = classes; }
  // Empty once LibTorch's operators alone are to run.
  std::string form() const override;
  std::string backend() const override { return computes_in; }

  std::optional<model::ModelCard> model_card;
  std::vector<std::string> arguments;
  model::Determinism found;
  std::string compiled_form;
  std::string computes_in;
  std::function<float(std::int64_t call)> score = [](std::int64_t) { return 0.5F; };
  std::vector<model::CpuExecutionSettings> used;
  std::vector<std::int64_t> excluded;
  std::int64_t num_calls = 0;

 private:
  std::int64_t num_scores_;
  std::vector<float> scores_;
};

// Says what a session asks of a source before and after the loop; the loop itself is no test's.
class GivenSource final : public ScoreSource {
 public:
  explicit GivenSource(bool are_units) : are_units_(are_units) {}
  bool runs_predictor() const override { return false; }
  bool is_rescoring_units() const override { return are_units_; }
  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override;

 private:
  bool are_units_;
};

class SessionFixture : public comm::CommTest {
 protected:
  SessionFixture();
  ~SessionFixture() override;

  // Collective. `file` is a SampleFile, a TargetFile or the like, which rank 0 writes. Task,
  // classes and targets of the options are those of the file. The batch size is batch_size_, the
  // device a CPU.
  template <class File>
  EvaluationSession open(const File& file, const tasks::TaskOptions& options = {}) {
    const auto path = folder_ / (std::to_string(num_files_++) + ".h5");
    if (world().is_root()) file.write(path);
    world().barrier();
    return open_written(path, options);
  }
  static GivenPredictor& predictor_of(const EvaluationSession& session) {
    return dynamic_cast<GivenPredictor&>(*session.model.predictor);
  }
  bool is_last() { return rank() == size() - 1; }

  std::filesystem::path folder_;  // the same on all ranks
  config::RunConfig config_;      // of sessions that are opened from now on
  std::int64_t batch_size_ = 4;

 private:
  EvaluationSession open_written(const std::filesystem::path& path, tasks::TaskOptions options);

  int num_files_ = 0;
};

// Collective. The sentence that all ranks end `step` with, which fails with this kind.
std::string agreed_refusal(ErrorKind kind, const std::function<void()>& step);

}  // namespace tally::app
