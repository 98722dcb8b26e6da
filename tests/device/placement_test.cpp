// SPDX-License-Identifier: Apache-2.0
// Choices and tables over pretended inventories.
#include <tally/device/placement.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>

#include "expect_error.hpp"

namespace tally::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GpuInventory gpus(int count, std::string_view node = "n") {
  GpuInventory inventory;
  for (int i = 0; i < count; ++i) {
    inventory.gpus.push_back({.index = i,
                              .uuid = format("GPU-{}{}", node, i),
                              .name = "NVIDIA H200",
                              .compute_capability = "90"});
  }
  return inventory;
}

GpuInventory without_driver() {
  GpuInventory inventory;
  explain_absence(inventory, GpuQuery::insufficient_driver, nullptr, "");
  return inventory;
}

// Ranks node by node; each node's ranks see the same inventory.
std::vector<RankPlace> table(const std::vector<std::pair<int, GpuInventory>>& nodes,
                             DeviceRequest request = DeviceRequest::automatic) {
  std::vector<RankPlace> places;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (int local = 0; local < nodes[node].first; ++local) {
      places.push_back({static_cast<int>(places.size()), format("node{}", node),
                        choose(request, local, nodes[node].second)});
    }
  }
  return places;
}

void expect_refused(const std::vector<RankPlace>& places, const std::vector<std::string>& texts,
                    DeviceRequest request = DeviceRequest::automatic,
                    GpuSharing sharing = GpuSharing::refused) {
  expect_error(ErrorKind::environment, texts, [&] { check_placement(request, places, sharing); });
}

TEST(Choose, TheOnlyGpuIsEverybodysAndOfSeveralEachLocalRankTakesItsOwn) {
  for (const int local : {0, 1, 5}) {
    EXPECT_EQ(choose(DeviceRequest::automatic, local, gpus(1)).device.index, 0);
    const auto choice = choose(DeviceRequest::cuda, local, gpus(4));
    EXPECT_EQ(choice.device.kind, DeviceKind::cuda);
    EXPECT_EQ(choice.device.index, local % 4);
    EXPECT_EQ(choice.device.uuid, format("GPU-n{}", local % 4));
    EXPECT_EQ(choice.device.model, "NVIDIA H200");
    EXPECT_EQ(choice.why_no_gpu, "");
  }
}

TEST(Choose, FallsToTheCpuAndSaysWhy) {
  const auto fallen = choose(DeviceRequest::automatic, 1, without_driver());
  EXPECT_EQ(fallen.device.kind, DeviceKind::cpu);
  EXPECT_EQ(fallen.device.index, 0);
  EXPECT_EQ(fallen.device.model, cpu_model());
  EXPECT_EQ(fallen.device.uuid, "");
  EXPECT_THAT(fallen.why_no_gpu, HasSubstr("no NVIDIA driver"));
  const auto wanted = choose(DeviceRequest::cpu, 1, gpus(2));
  EXPECT_EQ(wanted.device.kind, DeviceKind::cpu);
  EXPECT_EQ(wanted.why_no_gpu, "");
}

TEST(CheckPlacement, PassesWhatMakesSense) {
  check_placement(DeviceRequest::automatic, table({{2, gpus(2, "a")}, {3, gpus(4, "b")}}),
                  GpuSharing::refused);
  check_placement(DeviceRequest::cuda, table({{1, gpus(1, "a")}, {1, gpus(1, "b")}}),
                  GpuSharing::refused);
  check_placement(DeviceRequest::automatic, table({{3, without_driver()}}), GpuSharing::refused);
  check_placement(DeviceRequest::cpu, table({{3, gpus(1)}}, DeviceRequest::cpu),
                  GpuSharing::refused);
}

TEST(CheckPlacement, RefusesTwoRanksOnOneGpu) {
  // Each rank sees one GPU as its device 0, and it is the same one.
  auto places = table({{3, gpus(1)}});
  places[1].choice.device.uuid = "GPU-other";
  expect_refused(places, {"3 ranks on node0 found 2 GPUs", "ranks 0, 2 on node0", "GPU-n0",
                          "TALLY_ALLOW_SHARED_GPU=1"});
}

TEST(CheckPlacement, RefusesFewerGpusThanRanks) {
  const auto places = table({{1, gpus(2, "a")}, {4, gpus(2, "b")}});
  expect_refused(places, {"4 ranks on node1 found 2 GPUs", "ranks 1, 3 on node1", "GPU-b0",
                          "ranks 2, 4 on node1", "GPU-b1"});
  check_placement(DeviceRequest::cuda, places, GpuSharing::allowed);
  EXPECT_TRUE(shares_a_gpu(places));
  EXPECT_FALSE(shares_a_gpu(table({{2, gpus(2)}})));
  EXPECT_FALSE(shares_a_gpu(table({{2, without_driver()}})));
}

TEST(CheckPlacement, RefusesAMixtureOfCpuAndGpu) {
  const auto places = table({{2, gpus(2)}, {2, without_driver()}});
  expect_refused(
      places, {"2 of 4 ranks have a GPU", "ranks 2, 3 on node1: no NVIDIA driver", "--device cpu"});
  // Sharing has nothing to do with it.
  expect_refused(places, {"2 of 4"}, DeviceRequest::automatic, GpuSharing::allowed);
}

TEST(CheckPlacement, NamesEachCauseWhereAGpuWasAskedFor) {
  GpuInventory hidden;
  explain_absence(hidden, GpuQuery::no_device, "", "");
  GpuInventory old;
  old.driver_version = 12040;
  old.runtime_version = 13000;
  explain_absence(old, GpuQuery::insufficient_driver, nullptr, "");
  const auto places = table({{1, gpus(1)}, {1, hidden}, {2, old}}, DeviceRequest::cuda);
  expect_refused(places,
                 {"no GPU for rank 1 on node1: CUDA_VISIBLE_DEVICES='' shows none",
                  "ranks 2, 3 on node2: the NVIDIA driver is for CUDA 12.4", "needs 13.0"},
                 DeviceRequest::cuda);
}

TEST(CheckPlacement, StaysReadableWithAThousandRanks) {
  try {
    check_placement(DeviceRequest::automatic, table({{1000, gpus(4)}}), GpuSharing::refused);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("0, 4, 8, 12, 16, 20, 24, 28, … (250 in all)"));
    EXPECT_LT(std::string(error.what()).size(), 800u);
  }
  std::vector<std::pair<int, GpuInventory>> nodes(500, {1, without_driver()});
  expect_refused(table(nodes), {"and 492 more"}, DeviceRequest::cuda);
}

TEST(ExpectedGpuNote, SpeaksOnlyWhereTheLauncherPromisedAGpu) {
  const auto fallen = choose(DeviceRequest::automatic, 0, without_driver());
  const auto promised = [](const char* name) {
    return std::string_view(name) == "SLURM_JOB_GPUS" ? "0,1" : nullptr;
  };
  const auto hidden = [](const char* name) {
    return std::string_view(name) == "CUDA_VISIBLE_DEVICES" ? "" : nullptr;
  };
  EXPECT_THAT(expected_gpu_note(fallen, promised).value_or(""),
              testing::AllOf(HasSubstr("SLURM_JOB_GPUS=0,1"), HasSubstr("no NVIDIA driver")));
  EXPECT_EQ(expected_gpu_note(fallen, hidden), std::nullopt);
  EXPECT_EQ(expected_gpu_note(choose(DeviceRequest::automatic, 0, gpus(1)), promised),
            std::nullopt);
  EXPECT_EQ(expected_gpu_note(choose(DeviceRequest::cpu, 0, gpus(1)), promised), std::nullopt);
}

TEST(PlacementLines, ARunOfCpuRanksIsOneLine) {
  auto places = table({{3, without_driver()}, {1, without_driver()}, {2, gpus(2)}});
  const auto cpu = cpu_model();
  EXPECT_THAT(placement_lines(places), ElementsAre(format("ranks 0 to 2 on node0: cpu ({})", cpu),
                                                   format("rank 3 on node1: cpu ({})", cpu),
                                                   "rank 4 on node2: cuda:0 GPU-n0 (NVIDIA H200)",
                                                   "rank 5 on node2: cuda:1 GPU-n1 (NVIDIA H200)"));
  EXPECT_THAT(placement_lines({}), ElementsAre());
}

}  // namespace
}  // namespace tally::device
