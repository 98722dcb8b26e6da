// SPDX-License-Identifier: Apache-2.0
// Which forward passes are replayed. The device, its clock and the captures are played: a replay
// computes again what the network computed when it was recorded, into the same memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "cuda_graph/cuda_graph_network.hpp"

namespace tally::model {
namespace {

using Function = std::function<at::Tensor(const Tensors&)>;

// Time passes only by what is said to take some.
struct Device {
  double now_s = 0;
  double free_s = 0;  // when it will have done all its work
  int num_waits = 0;

  void enqueue(double host_s, double work_s) {
    now_s += host_s;
    free_s = std::max(free_s, now_s) + work_s;
  }
};

struct Scene {
  // Bound by launching, unless a test says otherwise.
  double host_s = 1.0;
  double work_s = 0.1;
  double replay_s = 0.1;
  Function function = [](const Tensors& inputs) { return inputs[0] * 2; };
  // What a replay writes; by default what the function gives of the inputs at that time.
  std::function<at::Tensor(const Tensors&)> replayed;
  std::string fails_to_record;
  bool has_two_outputs = false;  // the second one is the same

  Device device;
  int num_plain = 0;
  int num_replays = 0;
  int num_recordings = 0;
  bool is_recording = false;
  Tensors seen;       // by the call that was recorded
  at::Tensor output;  // of that call
};

class PlayedNetwork final : public Network {
 public:
  explicit PlayedNetwork(Scene& scene) : scene_(scene) {}
  const std::string& name() const override { return name_; }

  Tensors run(Tensors inputs) override {
    const auto output = scene_.function(inputs);
    const Tensors outputs = scene_.has_two_outputs ? Tensors{output, output} : Tensors{output};
    if (scene_.is_recording) {
      scene_.seen = std::move(inputs);
      scene_.output = output;
      return outputs;
    }
    ++scene_.num_plain;
    scene_.device.enqueue(scene_.host_s, scene_.work_s);
    return outputs;
  }

 private:
  Scene& scene_;
  std::string name_ = "played.pt";
};

class PlayedRecording final : public CapturedGraph {
 public:
  explicit PlayedRecording(Scene& scene)
      : scene_(scene), seen_(scene.seen), output_(scene.output) {}

  void replay() override {
    ++scene_.num_replays;
    scene_.device.enqueue(scene_.replay_s, scene_.work_s);
    output_.copy_(scene_.replayed ? scene_.replayed(seen_) : scene_.function(seen_));
  }

 private:
  Scene& scene_;
  Tensors seen_;
  at::Tensor output_;
};

class PlayedRecorder final : public GraphCapture {
 public:
  explicit PlayedRecorder(Scene& scene) : scene_(scene) {}

  std::unique_ptr<CapturedGraph> record(const std::function<void()>& enqueue) override {
    ++scene_.num_recordings;
    if (!scene_.fails_to_record.empty()) throw std::runtime_error(scene_.fails_to_record);
    scene_.is_recording = true;
    enqueue();
    scene_.is_recording = false;
    return std::make_unique<PlayedRecording>(scene_);
  }

  void wait() override {
    ++scene_.device.num_waits;
    scene_.device.now_s = std::max(scene_.device.now_s, scene_.device.free_s);
  }

  double now_s() override { return scene_.device.now_s; }

 private:
  Scene& scene_;
};

class ReplayTest : public testing::Test {
 protected:
  // Of a warm-up with zeros; what it says to the user.
  std::string warm_up(const at::Tensor& input) {
    network_.warm_up({input});
    const auto notes = network_.notes();
    return notes.empty() ? std::string() : notes.front();
  }

  at::Tensor run(const at::Tensor& input) { return network_.run({input}).front().clone(); }

  void expect_plain(const std::string& said, const std::string& reason) {
    EXPECT_FALSE(network_.is_replayed());
    EXPECT_EQ(said.empty(), reason.empty()) << said;
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    const int plain = scene_.num_plain;
    const int replays = scene_.num_replays;
    run(at::full({2, 3}, 1.0F));
    EXPECT_EQ(scene_.num_plain, plain + 1);
    EXPECT_EQ(scene_.num_replays, replays);
  }

  Scene scene_;
  CudaGraphNetwork network_{std::make_unique<PlayedNetwork>(scene_),
                            std::make_unique<PlayedRecorder>(scene_)};
  at::Tensor zeros_ = at::zeros({2, 3});
};

TEST_F(ReplayTest, ReplaysAllOutputs) {
  scene_.has_two_outputs = true;
  warm_up(zeros_);
  ASSERT_TRUE(network_.is_replayed());
  const auto outputs = network_.run({at::full({2, 3}, 4.0F)});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(outputs[1].equal(at::full({2, 3}, 8.0F)));
}

TEST_F(ReplayTest, ReplaysEveryBatchWithItsOwnInputs) {
  EXPECT_EQ(warm_up(zeros_), "");
  EXPECT_TRUE(network_.is_replayed());
  const int plain = scene_.num_plain;
  const int replays = scene_.num_replays;
  const int waits = scene_.device.num_waits;
  for (const float value : {3.0F, -7.0F, 0.5F}) {
    EXPECT_TRUE(run(at::full({2, 3}, value)).equal(at::full({2, 3}, 2 * value)));
  }
  EXPECT_EQ(scene_.num_plain, plain);
  EXPECT_EQ(scene_.num_replays, replays + 3);
  EXPECT_EQ(scene_.device.num_waits, waits);  // the loop's host never waits
  EXPECT_GE(plain, 3);                        // libraries settle in the first calls
}

TEST_F(ReplayTest, TheRehearsalGivesTheScoresOfItsInput) {
  scene_.function = [](const Tensors& inputs) { return inputs[0] + 1; };
  EXPECT_TRUE(network_.warm_up({zeros_}).front().equal(at::full({2, 3}, 1.0F)));
  EXPECT_TRUE(network_.warm_up({zeros_}).front().equal(at::full({2, 3}, 1.0F)));
  EXPECT_EQ(scene_.num_recordings, 1);
}

TEST_F(ReplayTest, OtherBitsAreRefused) {
  scene_.replayed = [](const Tensors& inputs) { return inputs[0] * 2 + 1e-30; };
  expect_plain(warm_up(zeros_), "a replay gives other scores");
}

// Zeros alone would not show it.
TEST_F(ReplayTest, RecordingsThatReadNoInputAreRefused) {
  scene_.replayed = [](const Tensors&) { return at::zeros({2, 3}); };
  expect_plain(warm_up(zeros_), "a replay gives other scores");
}

TEST_F(ReplayTest, NegativeZeroIsNotZero) {
  scene_.replayed = [](const Tensors& inputs) {
    const auto scores = inputs[0] * 2;
    return scores.masked_fill(scores.eq(0), -0.0);
  };
  expect_plain(warm_up(zeros_), "a replay gives other scores");
}

TEST_F(ReplayTest, NanIsComparedByItsBits) {
  scene_.function = [](const Tensors& inputs) {
    return inputs[0] * std::numeric_limits<float>::quiet_NaN();
  };
  EXPECT_EQ(warm_up(zeros_), "");
  EXPECT_TRUE(network_.is_replayed());
}

TEST_F(ReplayTest, WorkThatCannotBeRecordedRunsPlainly) {
  scene_.fails_to_record = "operation not permitted when stream is capturing";
  expect_plain(warm_up(zeros_), "operation not permitted when stream is capturing");
  warm_up(zeros_);
  EXPECT_EQ(scene_.num_recordings, 1);
  EXPECT_NE(warm_up(at::zeros({5, 3})), "");
  EXPECT_EQ(scene_.num_recordings, 2);
}

TEST_F(ReplayTest, NoGainNoReplay) {
  scene_.replay_s = 0.96 * scene_.host_s;
  expect_plain(warm_up(zeros_), "");
  EXPECT_EQ(scene_.num_recordings, 1);
}

// Capturing takes memory: nothing is captured where the device is busy anyway.
TEST_F(ReplayTest, ABusyDeviceGainsNothing) {
  scene_.host_s = 0.1;
  scene_.work_s = 1.0;
  scene_.replay_s = 0;
  expect_plain(warm_up(zeros_), "");
  EXPECT_EQ(scene_.num_recordings, 0);
  EXPECT_EQ(scene_.num_plain, 3);  // the warm-up, one that was timed, and the last
}

TEST_F(ReplayTest, ScoresThatDifferFromRunToRunAreNotRecorded) {
  scene_.function = [this](const Tensors& inputs) { return inputs[0] + scene_.num_plain; };
  expect_plain(warm_up(zeros_), "differ from run to run");
  EXPECT_EQ(scene_.num_recordings, 0);
}

TEST_F(ReplayTest, OtherInputsRunPlainly) {
  warm_up(zeros_);
  const int plain = scene_.num_plain;
  EXPECT_TRUE(run(at::full({1, 3}, 4.0F)).equal(at::full({1, 3}, 8.0F)));
  EXPECT_TRUE(run(at::full({2, 3}, 4.0F, at::kDouble)).equal(at::full({2, 3}, 8.0F, at::kDouble)));
  EXPECT_TRUE(run(at::full({3, 2}, 4.0F).t()).equal(at::full({2, 3}, 8.0F)));
  EXPECT_TRUE(network_.run({zeros_, zeros_}).front().equal(zeros_));
  EXPECT_EQ(scene_.num_plain, plain + 4);
  EXPECT_TRUE(run(at::full({2, 3}, 4.0F)).equal(at::full({2, 3}, 8.0F)));
  EXPECT_EQ(scene_.num_plain, plain + 4);
}

TEST_F(ReplayTest, AnotherRehearsalRecordsAgain) {
  warm_up(zeros_);
  warm_up(at::zeros({4, 3}));
  EXPECT_EQ(scene_.num_recordings, 2);
  const int plain = scene_.num_plain;
  EXPECT_TRUE(run(at::full({4, 3}, 4.0F)).equal(at::full({4, 3}, 8.0F)));
  EXPECT_EQ(scene_.num_plain, plain);
  run(zeros_);
  EXPECT_EQ(scene_.num_plain, plain + 1);
}

TEST_F(ReplayTest, NetworksMayWriteOverTheirInputs) {
  scene_.function = [](const Tensors& inputs) { return inputs[0].add_(1).clone(); };
  EXPECT_EQ(warm_up(zeros_), "");
  ASSERT_TRUE(network_.is_replayed());
  for (const float value : {3.0F, 3.0F}) {
    EXPECT_TRUE(run(at::full({2, 3}, value)).equal(at::full({2, 3}, value + 1)));
  }
}

// Numbers that nobody gave may be no indices: on a GPU one such call ends the process.
TEST_F(ReplayTest, IndicesStayWhatTheyAre) {
  bool all_zero = true;
  scene_.function = [&](const Tensors& inputs) {
    all_zero = all_zero && inputs[0].round().eq(0).all().item<bool>();
    return inputs[0].to(at::kFloat);
  };
  for (const auto type : {at::kLong, at::kFloat, at::kBFloat16}) {
    EXPECT_EQ(warm_up(at::zeros({50, 30}, type)), "");
    EXPECT_TRUE(network_.is_replayed());
  }
  EXPECT_TRUE(all_zero);
}

TEST_F(ReplayTest, InputsThatOverlapRunPlainly) {
  EXPECT_NE(warm_up(at::zeros({1, 3}).expand({2, 3})), "");
  EXPECT_FALSE(network_.is_replayed());
}

TEST_F(ReplayTest, TheNetworksOwnFailureIsPassedOn) {
  scene_.function = [](const Tensors&) -> at::Tensor { throw std::runtime_error("misfit"); };
  EXPECT_THROW(network_.warm_up({zeros_}), std::runtime_error);
}

}  // namespace
}  // namespace tally::model
