// SPDX-License-Identifier: Apache-2.0
// Networks that are given a way to run on CPUs, and what they offer.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "batch_parallel_network_fixture.hpp"

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CpuExecutionSettingsTest : public testing::Test {
 protected:
  ~CpuExecutionSettingsTest() override { at::set_num_threads(before_); }
  void warm_up(std::int64_t batch_size) { network.warm_up({at::zeros({batch_size, 2})}); }

  Scene scene;
  BatchParallelNetwork network{std::make_unique<PlayedNetwork>(scene), 2};

 private:
  int before_ = at::get_num_threads();
};

TEST_F(CpuExecutionSettingsTest, PiecesAreAsLargeAsAsked) {
  warm_up(64);
  EXPECT_EQ(network.form(), "played, 8 at a time");
  network.use({CpuKernels::own, 16});
  EXPECT_EQ(scene.used.kernels, CpuKernels::own);
  warm_up(64);
  EXPECT_EQ(network.form(), "played, 16 at a time");
  network.use({});
  warm_up(64);
  EXPECT_EQ(network.form(), "played, 8 at a time");
}

TEST_F(CpuExecutionSettingsTest, HalfAndTwiceAsManyAreOffered) {
  EXPECT_THAT(network.other_sizes(), IsEmpty()) << "nothing has run yet";
  warm_up(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(4, 16));
  EXPECT_THAT(network.other_kernels(), ElementsAre(CpuKernels::own));
  network.use({CpuKernels::automatic, 1});
  warm_up(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(2));
}

TEST_F(CpuExecutionSettingsTest, NoMoreAreOfferedThanAThreadHas) {
  scene.micro_batch_size = 32;
  warm_up(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(16));
}

TEST_F(CpuExecutionSettingsTest, WholeBatchesStayWhole) {
  scene.tries_samples = false;
  network.use({CpuKernels::automatic, 4});
  warm_up(64);
  EXPECT_EQ(network.form(), "played");
  EXPECT_THAT(network.other_sizes(), IsEmpty());
}

// What was timed counts more than a rule.
TEST_F(CpuExecutionSettingsTest, AskedSizesMayBeSmallerThanTheNetworkRunsWell) {
  scene.least_rows = 16;
  warm_up(64);
  EXPECT_EQ(network.form(), "played, 16 at a time");
  network.use({CpuKernels::automatic, 4});
  warm_up(64);
  EXPECT_EQ(network.form(), "played, 4 at a time");
}

}  // namespace
}  // namespace tally::model
