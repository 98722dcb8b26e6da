// Networks that are given a way to run on CPUs, and what they offer.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "split_network.hpp"

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Scene {
  std::int64_t piece_size = 8;  // that it runs best
  std::int64_t least_rows = 1;
  bool takes_pieces = true;
  CpuWay used;
};

class PlayedNetwork final : public Network {
 public:
  explicit PlayedNetwork(Scene& scene) : scene_(scene) {}
  const std::string& name() const override { return name_; }
  Tensors run(Tensors inputs) override { return {inputs[0] * 2}; }
  std::optional<Trial> try_samples(const Tensors& inputs) override {
    if (!scene_.takes_pieces) return std::nullopt;
    return Trial{{inputs[0] * 2}, scene_.piece_size};
  }
  std::int64_t least_rows() const override { return scene_.least_rows; }
  void use(const CpuWay& way) override { scene_.used = way; }
  std::vector<CpuKernels> other_kernels() const override { return {CpuKernels::own}; }

 private:
  Scene& scene_;
  std::string name_ = "net.pt";
};

class CpuWayTest : public testing::Test {
 protected:
  ~CpuWayTest() override { at::set_num_threads(before_); }
  void rehearse(std::int64_t batch_size) { network.rehearse({at::zeros({batch_size, 2})}); }

  Scene scene;
  SplitNetwork network{std::make_unique<PlayedNetwork>(scene), 2};

 private:
  int before_ = at::get_num_threads();
};

TEST_F(CpuWayTest, PiecesAreAsLargeAsTold) {
  rehearse(64);
  EXPECT_EQ(network.form(), "8 at a time");
  network.use({CpuKernels::own, 16});
  EXPECT_EQ(scene.used.kernels, CpuKernels::own);
  rehearse(64);
  EXPECT_EQ(network.form(), "16 at a time");
  network.use({});
  rehearse(64);
  EXPECT_EQ(network.form(), "8 at a time");
}

TEST_F(CpuWayTest, HalfAndTwiceAsManyAreOffered) {
  EXPECT_THAT(network.other_sizes(), IsEmpty()) << "nothing has run yet";
  rehearse(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(4, 16));
  EXPECT_THAT(network.other_kernels(), ElementsAre(CpuKernels::own));
  network.use({CpuKernels::automatic, 1});
  rehearse(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(2));
}

TEST_F(CpuWayTest, NoMoreAreOfferedThanAThreadHas) {
  scene.piece_size = 32;
  rehearse(64);
  EXPECT_THAT(network.other_sizes(), ElementsAre(16));
}

TEST_F(CpuWayTest, WholeBatchesStayWhole) {
  scene.takes_pieces = false;
  network.use({CpuKernels::automatic, 4});
  rehearse(64);
  EXPECT_EQ(network.form(), "");
  EXPECT_THAT(network.other_sizes(), IsEmpty());
}

// What was timed counts more than a rule.
TEST_F(CpuWayTest, ToldSizesMayBeSmallerThanTheNetworkRunsWell) {
  scene.least_rows = 16;
  rehearse(64);
  EXPECT_EQ(network.form(), "16 at a time");
  network.use({CpuKernels::automatic, 4});
  rehearse(64);
  EXPECT_EQ(network.form(), "4 at a time");
}

}  // namespace
}  // namespace tally::model
