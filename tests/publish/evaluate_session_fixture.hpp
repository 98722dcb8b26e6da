// SPDX-License-Identifier: Apache-2.0
// Sessions of a small data set, in process, with a predictor that is a function.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>

#include <tally/comm/agree.hpp>
#include <tally/publish/evaluate_session.hpp>
#include <tally/score_sources/predictor_scores.hpp>
#include <tally/session/session.hpp>
#include <tally/setup/device_and_reducer.hpp>
#include <tally/setup/make_scoring.hpp>
#include <tally/setup/open_inputs.hpp>
#include <tally/setup/open_session.hpp>
#include <tally/setup/warm_up.hpp>

#include "comm_fixture.hpp"
#include "sample_file.hpp"
#include "test_predictors.hpp"

namespace tally::app {

inline constexpr std::int64_t kSamples = 23, kClasses = 5;  // labels are i mod 5

inline float always_class_2(float /*first*/, std::int64_t class_index) {
  return class_index == 2 ? 1.0F : 0.0F;
}

class SessionTest : public comm::CommTest {
 protected:
  SessionTest()
      : folder_(std::filesystem::temp_directory_path() /
                world().broadcast("tally-session-" + std::to_string(::getpid()))) {
    if (world().is_root()) {
      std::filesystem::create_directory(folder_);
      data::SampleFile{.num_samples = kSamples}.write(folder_ / "a.h5");
    }
    world().barrier();
    config_.files.data = folder_ / "a.h5";
    config_.results.progress = "off";
  }
  ~SessionTest() override {
    world().barrier();
    if (world().is_root()) std::filesystem::remove_all(folder_);
  }

  EvaluationSession open(const model::ScoreFunction& scores) {
    EvaluationSession session(config_);
    session.output.folder = folder_ / "result";
    session.hardware = place_ranks(world(), "cpu", notes_);
    session.hardware.stream.emplace(session.hardware.device);
    session.data = open_data(world(), config_);
    session.model.predictor = model::make_function_predictor(kClasses, scores);
    session.source = predictor_scores();
    const auto& info = session.data.set->info();
    session.scoring = make_scoring(world(), config_, task_in_force("", info), info, {}, {});
    session.execution.batch_size = 4;
    warm_up(world(), session, notes_);
    session.reducer = choose_reducer(world(), session, notes_);
    plan_batches(world(), session, notes_);
    return session;
  }
  std::optional<report::RunReport> evaluate(EvaluationSession& session) {
    Phases phases;
    return evaluate_session(world(), session, phases, notes_);
  }

  std::filesystem::path folder_;
  config::RunConfig config_;
  Notes notes_;
};

}  // namespace tally::app
