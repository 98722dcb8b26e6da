// Batches that threads share: who runs what, and what happens where that cannot be.
#include "split_network.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::model {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

struct Scene {
  std::function<at::Tensor(const Tensors&)> function = [](const Tensors& inputs) {
    return inputs[0] * 2;
  };
  bool has_two_outputs = false;
  std::mutex mutex;
  std::vector<std::int64_t> rows;  // of each call
  std::vector<int> operator_threads;
  std::set<std::thread::id> callers;
};

class PlayedNetwork final : public Network {
 public:
  explicit PlayedNetwork(Scene& scene) : scene_(scene) {}
  const std::string& name() const override { return name_; }
  std::string form() const override { return "played"; }

  Tensors run(Tensors inputs) override {
    {
      const std::scoped_lock lock(scene_.mutex);
      scene_.rows.push_back(inputs[0].size(0));
      scene_.operator_threads.push_back(at::get_num_threads());
      scene_.callers.insert(std::this_thread::get_id());
    }
    const auto output = scene_.function(inputs);
    return scene_.has_two_outputs ? Tensors{output, output.sum(1) + 1} : Tensors{output};
  }

 private:
  Scene& scene_;
  std::string name_ = "net.pt";
};

class SplitTest : public testing::Test {
 protected:
  // Runs a rehearsed batch, and forgets what the rehearsal did.
  at::Tensor run(int threads, std::int64_t batch_size) {
    network_ = std::make_unique<SplitNetwork>(std::make_unique<PlayedNetwork>(scene), threads);
    network_->rehearse({batch(batch_size)});
    forget();
    return network_->run({batch(batch_size)}).front();
  }

  void forget() {
    scene.rows.clear();
    scene.operator_threads.clear();
    scene.callers.clear();
  }

  static at::Tensor batch(std::int64_t size) { return at::arange(size * 3).reshape({size, 3}); }

  SplitNetwork& network() { return *network_; }

  Scene scene;

 private:
  std::unique_ptr<SplitNetwork> network_;
};

TEST(NumPiecesTest, AreEqualAndLargeEnough) {
  EXPECT_EQ(num_pieces(32, 1), 1);
  EXPECT_EQ(num_pieces(32, 2), 2);
  EXPECT_EQ(num_pieces(32, 4), 4);
  EXPECT_EQ(num_pieces(32, 8), 4);
  EXPECT_EQ(num_pieces(64, 6), 2);
  EXPECT_EQ(num_pieces(64, 3), 1);
  EXPECT_EQ(num_pieces(15, 2), 1);
  EXPECT_EQ(num_pieces(14, 2), 1);
  EXPECT_EQ(num_pieces(256, 16), 16);
}

TEST_F(SplitTest, EachThreadRunsAPieceAtTheSameTime) {
  std::barrier all_begun(4);  // ends only if all run at once
  std::atomic<bool> is_settled = false;
  scene.function = [&](const Tensors& inputs) {
    if (is_settled) all_begun.arrive_and_wait();
    is_settled = true;
    return inputs[0] * 2;
  };
  EXPECT_TRUE(run(4, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(scene.operator_threads, Each(1));
  EXPECT_EQ(scene.callers.size(), 4U);
  EXPECT_EQ(network().form(), "played, batches in 4 pieces");
  EXPECT_THAT(network().notes(), ElementsAre());
}

TEST_F(SplitTest, ThreadsThatAreLeftShareOperations) {
  EXPECT_TRUE(run(8, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(scene.operator_threads, Each(2));
}

TEST_F(SplitTest, BatchesThatCannotBeSplitRunWhole) {
  EXPECT_TRUE(run(2, 15).equal(batch(15) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(15));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
  EXPECT_EQ(network().form(), "played");
  EXPECT_THAT(network().notes(),
              ElementsAre(HasSubstr("a --batch-size that 2 divides, from 16 on")));
  run(3, 64);
  EXPECT_THAT(network().notes(),
              ElementsAre(HasSubstr("a --batch-size that 3 divides, from 24 on")));
}

TEST_F(SplitTest, OtherSizesThanTheRehearsedRunWhole) {
  run(2, 32);
  forget();
  EXPECT_TRUE(network().run({batch(64)}).front().equal(batch(64) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(64));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
}

TEST_F(SplitTest, WhatRehearsedLastCounts) {
  run(2, 32);
  network().rehearse({batch(15)});
  EXPECT_EQ(network().form(), "played");
  network().rehearse({batch(64)});
  forget();
  EXPECT_TRUE(network().run({batch(64)}).front().equal(batch(64) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32, 32));
}

TEST_F(SplitTest, TheFirstRunRehearsesWhereNobodyHas) {
  SplitNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  EXPECT_TRUE(network.run({batch(32)}).front().equal(batch(32) * 2));
  EXPECT_EQ(network.form(), "played, batches in 2 pieces");
}

TEST_F(SplitTest, AllInputsAreSplit) {
  scene.function = [](const Tensors& inputs) { return inputs[0] + inputs[1]; };
  SplitNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(network.run({batch(32), batch(32) * 10}).front().equal(batch(32) * 11));
  }
}

TEST_F(SplitTest, AllOutputsAreJoined) {
  scene.has_two_outputs = true;
  SplitNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  for (int i = 0; i < 2; ++i) {
    const auto outputs = network.run({batch(32)});
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_TRUE(outputs[0].equal(batch(32) * 2));
    EXPECT_TRUE(outputs[1].equal((batch(32) * 2).sum(1) + 1));
  }
}

TEST_F(SplitTest, NetworksThatTakeWholeBatchesOnlyGetThem) {
  scene.function = [](const Tensors& inputs) {
    if (inputs[0].size(0) != 32) throw Error(ErrorKind::model, "32 only");
    return inputs[0] * 2;
  };
  EXPECT_TRUE(run(2, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
  EXPECT_THAT(network().notes(), ElementsAre(HasSubstr("instead of batches (32 only)")));
  scene.function = [](const Tensors& inputs) { return inputs[0] * 2; };
  network().rehearse({batch(32)});
  EXPECT_THAT(network().notes(), ElementsAre());
  EXPECT_EQ(network().form(), "played, batches in 2 pieces");
}

// What befalls one rank alone must not change how it runs batches.
TEST_F(SplitTest, OnlyTheNetworkRefusesPieces) {
  scene.function = [](const Tensors&) -> at::Tensor {
    throw Error(ErrorKind::environment, "out of memory");
  };
  EXPECT_THROW(run(2, 32), Error);
  EXPECT_THAT(scene.rows, ElementsAre(16));
}

TEST_F(SplitTest, PiecesBeginAtAlignedAddresses) {
  std::atomic<int> num_odd = 0;
  scene.function = [&](const Tensors& inputs) {
    num_odd += reinterpret_cast<std::uintptr_t>(inputs[0].const_data_ptr()) % 64 != 0 ? 1 : 0;
    return inputs[0] * 2;
  };
  EXPECT_TRUE(run(2, 18).equal(batch(18) * 2));
  EXPECT_EQ(num_odd, 0);
}

TEST_F(SplitTest, ScoresWithoutARowForEachSampleAreLeftToTheCaller) {
  scene.function = [](const Tensors& inputs) { return inputs[0].sum(0); };
  EXPECT_EQ(run(2, 32).dim(), 1);
  EXPECT_THAT(scene.rows, ElementsAre(32));
}

// One that fails must not go while others work on what it held.
TEST_F(SplitTest, AFailureEndsTheBatchWhenAllHaveEnded) {
  std::atomic<int> num_ended = 0;
  std::latch* others_may_end = nullptr;
  scene.function = [&](const Tensors& inputs) {
    if (inputs[0].ge(999).any().item<bool>()) {
      others_may_end->count_down();
      throw Error(ErrorKind::model, "too large");
    }
    if (others_may_end != nullptr) {  // and then they take their time
      others_may_end->wait();
      at::ones({1 << 20}).sum();
    }
    ++num_ended;
    return inputs[0] * 2;
  };
  run(4, 32);
  for (const std::int64_t row : {0, 9, 31}) {
    num_ended = 0;
    std::latch failed(1);
    others_may_end = &failed;
    auto bad = batch(32);
    bad[row].fill_(999);
    EXPECT_THROW(network().run({bad}), Error);
    EXPECT_EQ(num_ended, 3);
  }
  others_may_end = nullptr;
  EXPECT_TRUE(network().run({batch(32)}).front().equal(batch(32) * 2));
}

}  // namespace
}  // namespace tally::model
