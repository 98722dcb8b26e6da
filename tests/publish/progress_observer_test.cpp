// SPDX-License-Identifier: Apache-2.0
// What rank 0 shows and records while its loop runs.
#include "progress_observer.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <tally/metrics/device_accumulator.hpp>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ProgressTest : public SessionFixture {
 protected:
  // What a model that always says class 2 counts of samples 0 to 3, whose labels are 0 to 3.
  exact::State counted(const EvaluationSession& session) {
    std::vector<float> scores(4 * 5);
    for (std::size_t row = 0; row < 4; ++row) scores[5 * row + 2] = 1;
    std::vector<std::int64_t> labels{0, 1, 2, 3};
    const std::vector<TensorView> outputs{contiguous_view(scores.data(), DType::f32, {4, 5})};
    const std::vector<TensorView> targets{contiguous_view(labels.data(), DType::i64, {4})};
    exact::State state(session.scoring.task->layout());
    metrics::DeviceAccumulator counts(state, *session.hardware.stream);
    const auto scorer = session.scoring.task->make_scorer(4, session.hardware.device);
    scorer->enqueue({.num_samples = 4, .outputs = outputs, .targets = targets}, counts);
    counts.finish();
    return state;
  }
  // The events of rank 0's loop over `own` samples in two halves, of `total` on all ranks; what is
  // shown is in shown_.
  std::vector<json> run(std::int64_t own, std::int64_t total) {
    const auto session = open(data::SampleFile{}, {.metrics = {.names = {"accuracy"}}});
    const auto state = counted(session);
    const auto path = folder_ / ("events-" + std::to_string(rank()));
    report::EventLog events(path);
    testing::internal::CaptureStderr();
    {
      ProgressObserver observer(report::ProgressStyle::log, events, *session.scoring.task, own,
                                total);
      observer.batch_done(own / 2, state);
      observer.batch_done(own, state);
      observer.finish();
    }
    shown_ = testing::internal::GetCapturedStderr();
    std::vector<json> found;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) found.push_back(json::parse(line));
    return found;
  }

  std::string shown_;
};

TEST_F(ProgressTest, AloneARankShowsItsAccuracy) {
  const auto events = run(4, 4);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at("samples_done"), 2);
  EXPECT_EQ(events[1].at("samples_done"), 4);
  EXPECT_EQ(events[1].at("samples_total"), 4);
  EXPECT_EQ(events[1].at("running_metrics"), (json{{"accuracy", 0.25}}));
  EXPECT_EQ(events[1].at("running_samples"), 4);
  EXPECT_THAT(shown_, testing::AllOf(testing::StartsWith("tally: 4/4 samples, 100 %"),
                                     HasSubstr("accuracy 0.2500")));
}

// Its accuracy would not be the number that the report says: it is recorded, but not shown.
TEST_F(ProgressTest, ItsShareStandsForTheWhole) {
  const auto events = run(4, 18);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at("samples_done"), 9);
  EXPECT_EQ(events[1].at("samples_done"), 18);
  EXPECT_EQ(events[1].at("running_metrics"), (json{{"accuracy", 0.25}}));
  EXPECT_EQ(events[1].at("running_samples"), 4) << "of which there is an accuracy";
  EXPECT_THAT(shown_, testing::AllOf(testing::StartsWith("tally: 18/18 samples"),
                                     testing::Not(HasSubstr("accuracy"))));
}

}  // namespace
}  // namespace tally::app
