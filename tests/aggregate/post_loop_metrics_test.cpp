// SPDX-License-Identifier: Apache-2.0
// All that is computed after the loop, and the digest of it.
#include <tally/aggregate/global_result.hpp>

#include "aggregate_fixture.hpp"
#include "sample_file.hpp"

namespace tally::app {
namespace {

constexpr std::size_t kSamples = 23, kClasses = 5;

std::vector<float> some_scores() {
  std::vector<float> scores(kSamples * kClasses);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * i % 11) / 4;
  return scores;
}

bool has_interval(const metrics::Results& results, std::string_view name) {
  return results.find(name)->interval.has_value();
}

class PostLoopTest : public AggregateTest {
 protected:
  PostLoopTest() { config_.results.bootstrap_replicas = 40; }

  // Cameras are of three samples each, the last of two.
  GlobalResult result_of(const std::vector<float>& scores) {
    auto session = open(data::SampleFile{.num_samples = kSamples},
                        {.metrics = {.names = metrics_}, .keep_rows = true});
    if (has_subgroups_) {
      session.scoring.subgroups.push_back({.column = 0, .values = {0, 1, 2, 3, 4, 5, 6, 7}});
    }
    LocalUnits local(score(session, scores));
    auto global = merge_results(world(), session, local);
    compute_post_loop_metrics(world(), session, local, global);
    return global;
  }

  std::vector<std::string> metrics_{"standard", "auroc_weighted"};
  bool has_subgroups_ = true;
};

TEST_F(PostLoopTest, TheDigestIsTheSameHoweverSamplesAreSharedOut) {
  const auto expected = result_of(some_scores()).state_digest;
  EXPECT_EQ(expected.size(), 64U);
  for (const std::int64_t batch_size : {3, 8, 23}) {
    batch_size_ = batch_size;
    EXPECT_EQ(result_of(some_scores()).state_digest, expected) << batch_size;
  }
  config_.results.intervals = "bootstrap";
  EXPECT_EQ(result_of(some_scores()).state_digest, expected) << "intervals are no part of it";
}

// Of sample 17 class 3 has the lowest score, which is lowered: no rank changes, only probabilities.
TEST_F(PostLoopTest, TheDigestIsThatOfCurvesToo) {
  has_subgroups_ = false;  // which have curves of their own
  auto scores = some_scores();
  scores[17 * kClasses + 3] = -1;
  metrics_ = {"accuracy"};
  EXPECT_EQ(result_of(scores).state_digest, result_of(some_scores()).state_digest);
  metrics_ = {"accuracy", "auroc_weighted"};
  EXPECT_NE(result_of(scores).state_digest, result_of(some_scores()).state_digest);
}

TEST_F(PostLoopTest, RootHasSubgroupsAndCurves) {
  const auto global = result_of(some_scores());
  EXPECT_EQ(global.groups.size(), world().is_root() ? 1U : 0U);
  EXPECT_EQ(global.curves.size(), world().is_root() ? kClasses : 0U);
  if (!world().is_root()) return;
  EXPECT_TRUE(value_of(global.results, "auroc_weighted").has_value());
  const auto& cameras = global.groups[0];
  EXPECT_EQ(cameras.name, "camera");
  ASSERT_EQ(cameras.values.size(), 8U);
  std::int64_t right = 0;
  for (const auto& camera : cameras.values) {
    EXPECT_EQ(camera.results.units.count, camera.value == 7 ? 2 : 3);
    EXPECT_NE(camera.results.find("auroc_weighted"), nullptr);
    right += camera.results.find("accuracy")->proportion.value().part;
  }
  EXPECT_EQ(right, global.results.find("accuracy")->proportion.value().part);
}

TEST_F(PostLoopTest, IntervalsAreOfTheKindAskedFor) {
  const auto wilson = result_of(some_scores());
  config_.results.intervals = "bootstrap";
  const auto bootstrap = result_of(some_scores());
  config_.results.intervals = "off";
  const auto off = result_of(some_scores());
  EXPECT_TRUE(has_interval(wilson.results, "accuracy"));
  EXPECT_FALSE(has_interval(wilson.results, "loss"));
  EXPECT_FALSE(has_interval(off.results, "accuracy"));
  if (!world().is_root()) return;
  for (const char* name : {"accuracy", "loss", "auroc_weighted"}) {
    EXPECT_TRUE(has_interval(bootstrap.results, name)) << name;
  }
}

TEST_F(PostLoopTest, WithoutIntervalsNeitherClassesNorSubgroupsHaveThem) {
  const auto num_intervals = [](const GlobalResult& global) {
    std::int64_t found = 0;
    for (const auto& of_class : global.results.per_class) {
      for (const auto& value : of_class.values) found += value.interval ? 1 : 0;
    }
    for (const auto& group : global.groups) {
      for (const auto& value : group.values)
        found += has_interval(value.results, "accuracy") ? 1 : 0;
    }
    return found;
  };
  EXPECT_GT(num_intervals(result_of(some_scores())), 0);
  config_.results.intervals = "off";
  EXPECT_EQ(num_intervals(result_of(some_scores())), 0);
}

}  // namespace
}  // namespace tally::app
