// SPDX-License-Identifier: Apache-2.0
// Evaluations that a signal stops and that are resumed, in process.

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <tally/base/interrupt.hpp>

#include "evaluate_session_fixture.hpp"
#include "find_progress.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Scores that differ from sample to sample.
float mixed(float first, std::int64_t class_index) {
  const auto mixed = static_cast<std::int64_t>(first) * 7 + class_index * 5;
  return static_cast<float>(mixed % 11);
}

class ResumeSessionTest : public SessionTest {
 protected:
  ResumeSessionTest() {
    config_.files.checkpoint_every_s = 0;
    config_.results.save = {"labels", "logits"};
  }

  // In its folder, by a predictor that counts what it is given after the warm-up.
  EvaluationSession open_counting(const fs::path& folder, const std::function<void()>& each_batch) {
    auto session = open([this, each_batch](float first, std::int64_t class_index) {
      if (is_counting_ && class_index == 0) {
        ++num_scored_;
        each_batch();
      }
      return mixed(first, class_index);
    });
    session.output.folder = folder;
    is_counting_ = true;
    num_scored_ = 0;
    return session;
  }

  report::RunReport evaluate_all(const fs::path& folder) {
    is_counting_ = false;
    auto session = open_counting(folder, [] {});
    return evaluate(session).value_or(report::RunReport{});
  }

  // Asks rank `stops` to stop once it has scored some samples; whether that came.
  bool stop_after(const fs::path& folder, int stops, std::int64_t scored) {
    is_counting_ = false;
    auto session = open_counting(folder, [&] {
      if (rank() == stops && num_scored_ == scored) std::raise(SIGUSR1);
    });
    try {
      evaluate(session);
      return false;
    } catch (const StopRequested&) {
      return true;
    }
  }

  EvaluationSession open_resumed(const fs::path& folder) {
    is_counting_ = false;
    auto session = open_counting(folder, [] {});
    session.output.resume = true;
    find_progress(world(), session);
    require_own_progress(world(), session);
    plan_batches(world(), session, notes_);
    return session;
  }

  void expect_same(const report::RunReport& found, const report::RunReport& expected) const {
    EXPECT_EQ(found.digests.state, expected.digests.state);
    EXPECT_EQ(found.digests.predictions, expected.digests.predictions);
    EXPECT_EQ(found.digests.inputs, expected.digests.inputs);
    EXPECT_EQ(bytes_of(folder_ / "stopped" / "predictions.h5"),
              bytes_of(folder_ / "whole" / "predictions.h5"));
  }

  bool is_counting_ = false;
  std::int64_t num_scored_ = 0;
};

TEST_F(ResumeSessionTest, AfterAStopAtAnyBatchTheResultIsTheSameToTheByte) {
  const auto expected = evaluate_all(folder_ / "whole");
  for (std::int64_t scored = 1; scored <= 12; scored += 4) {
    const auto folder = folder_ / "stopped";
    const int stops = static_cast<int>(scored) % world().world_size();
    const bool stopped = stop_after(folder, stops, scored);
    // A rank with less than so many samples is not asked to stop.
    if (!stopped) {
      if (world().is_root()) expect_same(expected, expected);
    } else {
      EXPECT_FALSE(fs::exists(folder / "report.json"));
      EXPECT_TRUE(fs::exists(folder / "progress"));
      EXPECT_TRUE(fs::exists(folder / "events.jsonl"));
      auto session = open_resumed(folder);
      ASSERT_TRUE(session.resumption.has_value());
      const auto done = session.resumption->num_samples;
      EXPECT_GT(done, 0);
      const auto found = evaluate(session);
      std::vector<std::int64_t> scored_again{num_scored_};
      world().sum_in_place(scored_again);
      // Batches are filled up, so that the last one has more rows than samples.
      EXPECT_LE(scored_again[0], kSamples - done + 1);
      if (found) {
        expect_same(*found, expected);
        EXPECT_FALSE(fs::exists(folder / "progress"));
      }
    }
    world().barrier();
    if (world().is_root()) fs::remove_all(folder);
    world().barrier();
  }
}

TEST_F(ResumeSessionTest, ProgressOfAnotherSettingIsRefusedByName) {
  if (!stop_after(folder_ / "stopped", 0, 1)) return;
  config_.settings = {{"threshold", "0.25"}};
  is_counting_ = false;
  auto session = open_counting(folder_ / "stopped", [] {});
  session.output.resume = true;
  find_progress(world(), session);
  const comm::SuppressedFailures suppressed(ErrorKind::usage);
  try {
    require_own_progress(world(), session);
    FAIL() << "progress of another threshold was taken";
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_THAT(failure.suppressed_message,
                HasSubstr("was made without --threshold, and this run is with --threshold 0.25"));
  }
}

TEST_F(ResumeSessionTest, WithoutProgressItStartsAnew) {
  auto session = open_resumed(folder_ / "nothing");
  EXPECT_FALSE(session.resumption.has_value());
  EXPECT_EQ(session.attempt, 1);
  note_progress(session, notes_);
  EXPECT_THAT(notes_.all(), ::testing::Contains(HasSubstr("the run starts anew")));
  const auto report = evaluate(session);
  if (!report) return;
  EXPECT_EQ(report->metrics.results.samples().count, std::uint64_t{kSamples});
}

TEST_F(ResumeSessionTest, ACompleteResultIsKnownByItsInputs) {
  const auto ignored = evaluate_all(folder_ / "whole");
  is_counting_ = false;
  auto session = open_counting(folder_ / "whole", [] {});
  EXPECT_FALSE(has_complete_result(world(), session));
  session.output.resume = true;
  EXPECT_TRUE(has_complete_result(world(), session));
  config_.settings = {{"threshold", "0.25"}};
  is_counting_ = false;
  auto other = open_counting(folder_ / "whole", [] {});
  other.output.resume = true;
  const comm::SuppressedFailures suppressed(ErrorKind::output);
  EXPECT_THROW(has_complete_result(world(), other), comm::AgreedFailure);
}

TEST_F(ResumeSessionTest, AResultOfWhichAFileIsMissingIsNotComplete) {
  const auto ignored = evaluate_all(folder_ / "cut");
  is_counting_ = false;
  auto session = open_counting(folder_ / "cut", [] {});
  session.output.resume = true;
  const comm::SuppressedFailures suppressed(ErrorKind::output);
  const auto refusal = [&] {
    world().barrier();  // rank 0 has changed the folder
    try {
      has_complete_result(world(), session);
    } catch (const comm::AgreedFailure& failure) {
      return failure.suppressed_message;
    }
    return std::string("none");
  };
  if (world().is_root()) fs::remove(folder_ / "cut" / "metrics.h5");
  EXPECT_THAT(refusal(), HasSubstr("but not the metrics.h5 that belongs to it"));
  if (world().is_root()) fs::resize_file(folder_ / "cut" / "report.json", 10);
  EXPECT_THAT(refusal(), HasSubstr("a report.json that cannot be read"));
}

}  // namespace
}  // namespace tally::app
