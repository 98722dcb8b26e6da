// SPDX-License-Identifier: Apache-2.0
// Recordings of torch's work by the library of CUDA graphs, on a GPU.
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <tally/libtorch/torch_device_and_stream.hpp>

#include "cuda_graph/cuda_graph_capture.hpp"
#include "gpu.hpp"
#include "load_torch_libraries.hpp"

namespace tally::model {
namespace {

class GraphTest : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    load_cuda_support(gpu_);
    stream_.emplace(gpu_);
    capture_ = make_cuda_graph_capture(load_cuda_graph_api(), gpu_);
  }

  at::Tensor full(float value) const {
    return at::full({1000}, value, at::TensorOptions(libtorch::torch_device(gpu_)));
  }

  // Of work with memory in between.
  void expect_replays() {
    auto input = full(0);
    at::Tensor output;
    const auto work = [&] { output = ((input + 1) * 3).sum(); };
    for (int i = 0; i < 3; ++i) work();
    const auto captured = capture_->record(work);
    for (const float value : {1.0F, 5.0F}) {
      input.copy_(full(value));
      captured->replay();
      EXPECT_EQ(output.item<float>(), 3000 * (value + 1));
    }
  }

  std::optional<device::Stream> stream_;
  std::unique_ptr<GraphCapture> capture_;
};

TEST_F(GraphTest, ReplaysWithOtherNumbers) {
  const c10::InferenceMode guard;
  const libtorch::StreamScope on_stream(gpu_, stream_->handle());
  expect_replays();
}

// Torch goes on as before, also with memory that it allocates, and records again.
TEST_F(GraphTest, NothingIsLeftOfRecordingsThatFail) {
  const c10::InferenceMode guard;
  const libtorch::StreamScope on_stream(gpu_, stream_->handle());
  for (int i = 0; i < 3; ++i) {
    const auto input = full(2);
    EXPECT_EQ(input.sum().item<float>(), 2000);
    // The host may not wait for a number.
    EXPECT_ANY_THROW(capture_->record([&] { (input * 2).sum().item<float>(); }));
    const auto large = at::zeros({10'000'000}, at::TensorOptions(libtorch::torch_device(gpu_)));
    EXPECT_EQ((large + 1).sum().item<float>(), 10'000'000);
    capture_->wait();
  }
  expect_replays();
}

// A replay would read the host's memory when it may be gone.
TEST_F(GraphTest, CopiesFromTheHostAreRefused) {
  const c10::InferenceMode guard;
  const libtorch::StreamScope on_stream(gpu_, stream_->handle());
  auto input = full(2);
  const auto pageable = at::full({1000}, 3.0F);
  EXPECT_ANY_THROW(capture_->record([&] { input.copy_(pageable, /*non_blocking=*/true); }));
  expect_replays();
}

// Copies within the device are not.
TEST_F(GraphTest, CopiesOnTheDeviceAreReplayed) {
  const c10::InferenceMode guard;
  const libtorch::StreamScope on_stream(gpu_, stream_->handle());
  auto from = full(2);
  auto to = full(0);
  const auto captured = capture_->record([&] { to.copy_(from); });
  from.copy_(full(7));
  captured->replay();
  EXPECT_EQ(to.sum().item<float>(), 7000);
}

TEST_F(GraphTest, TheDefaultStreamIsRefused) {
  EXPECT_ANY_THROW(capture_->record([] {}));
  const c10::InferenceMode guard;
  const libtorch::StreamScope on_stream(gpu_, stream_->handle());
  expect_replays();
}

}  // namespace
}  // namespace tally::model
