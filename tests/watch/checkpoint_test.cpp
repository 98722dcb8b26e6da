// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <tally/watch/checkpoint_version.hpp>

namespace tally::watch {
namespace {

TEST(StepOf, FollowsTheNamesThatTrainersGive) {
  const std::vector<std::pair<std::string, std::optional<std::int64_t>>> cases = {
      {"epoch=3-step=1500.ckpt", 1500},
      {"step=1500-epoch=3.ckpt", 1500},
      {"checkpoint-500", 500},
      {"checkpoint-500-epoch-2", 500},
      {"global_step10", 10},
      {"global_step10_rank0", 10},
      {"iter_0010000", 10000},
      {"iteration-7-of-9.pt", 7},
      {"steps_300_seed_4.pt", 300},
      {"Step 12 (final).pt", 12},
      {"EPOCH-9.PTH", 9},
      {"model_0007.pt", 7},
      {"resnet18-epoch12.pth", 12},
      {"resnet18_epochs12_v2.pth", 12},
      {"20231105_ep3.pt", 3},
      {"epoch10.step20", 20},
      {"model.3.pt", 3},
      {"checkpoint_0199.pth.tar", 199},
      {"5", 5},
      // Metrics are no steps.
      {"epoch=3-val_loss=0.25.ckpt", 3},
      {"train_loss_step=0.25-epoch=4.ckpt", 4},
      {"model-acc0.91.pt", std::nullopt},
      {"model_8-acc0.91.pt", 8},
      // Nor is the ending.
      {"last.pt", std::nullopt},
      {"last.pt2", std::nullopt},
      {"step.pt2", std::nullopt},
      {"", std::nullopt},
      {".", std::nullopt},
      {"step", std::nullopt},
      {"footsteps of 3 cats.pt", 3},
      // More than any counter holds.
      {"step=99999999999999999999_4.pt", 4},
  };
  for (const auto& [name, step] : cases) EXPECT_EQ(step_of(name), step) << name;
}

Checkpoint made(const std::string& name, std::int64_t modified_ns) {
  return {step_of(name), name, name, 1, modified_ns};
}

TEST(Checkpoint, IsEvaluatedByStepThenTimeThenName) {
  std::vector<Checkpoint> checkpoints = {made("last.pt", 1),     made("b_step10.pt", 2),
                                         made("a_step10.pt", 9), made("best.pt", 0),
                                         made("step9.pt", 99),   made("also.pt", 1)};
  std::ranges::sort(checkpoints, stands_before);
  std::vector<std::string> names;
  for (const auto& checkpoint : checkpoints) names.push_back(checkpoint.name);
  EXPECT_THAT(names, testing::ElementsAre("step9.pt", "a_step10.pt", "b_step10.pt", "best.pt",
                                          "also.pt", "last.pt"));
}

}  // namespace
}  // namespace tally::watch
