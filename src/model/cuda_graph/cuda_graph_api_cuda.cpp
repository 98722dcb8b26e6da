// SPDX-License-Identifier: Apache-2.0
#include "cuda_graph/cuda_graph_api.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/headeronly/version.h>

namespace tally::model {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// No exception crosses the border of this library.
template <class Action>
const char* reason_of_failure(Action action) noexcept {
  thread_local std::string reason;
  try {
    action();
    return nullptr;
  } catch (const c10::Error& error) {
    reason = error.what_without_backtrace();
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
    reason = "unknown";
  }
  return reason.c_str();
}

template <class Action>
bool is_done(Action action) noexcept {
  try {
    action();
    return true;
  } catch (...) {
    return false;
  }
}

bool is_on_device(const void* memory) {
  cudaPointerAttributes attributes{};
  C10_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeDevice;
}

// Of what a recording may hold, all else than these is work of the host, or of a kind that is not
// known here.
bool stays_on_device(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  if (type == cudaGraphNodeTypeMemcpy) {
    cudaMemcpy3DParms copy{};
    C10_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
    return is_on_device(copy.srcPtr.ptr) && is_on_device(copy.dstPtr.ptr);
  }
  return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset ||
         type == cudaGraphNodeTypeEmpty || type == cudaGraphNodeTypeMemAlloc ||
         type == cudaGraphNodeTypeMemFree;
}

// A replay would read or write the host's memory where it lay when it was recorded: by then it may
// be another's.
void check_memory(cudaGraph_t graph) {
  std::size_t count = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  if (std::all_of(nodes.begin(), nodes.end(), stays_on_device)) return;
  throw std::runtime_error("a part of it does not stay on the GPU");
}

// Where torch did not come so far.
void end_capture(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  if (status == cudaStreamCaptureStatusNone) return;
  cudaGraph_t part = nullptr;
  C10_CUDA_CHECK(cudaStreamEndCapture(stream, &part));
  C10_CUDA_CHECK(cudaGraphDestroy(part));
}

// LibTorch 2.10 has no pools of the host's memory; those after it have.
template <class HostAllocator>
constexpr bool kHasPools = requires(HostAllocator& host, c10::MempoolId_t pool) {
  host.end_allocate_to_pool(pool);
  host.release_pool(pool);
};
static_assert(kHasPools<at::HostAllocator> || TORCH_VERSION_MINOR < 11);

template <class HostAllocator>
void leave_pool(HostAllocator& host, c10::MempoolId_t pool) {
  if constexpr (kHasPools<HostAllocator>) host.end_allocate_to_pool(pool);
}

template <class HostAllocator>
void release_pool(HostAllocator& host, c10::MempoolId_t pool) {
  if constexpr (kHasPools<HostAllocator>) host.release_pool(pool);
}

// CUDAGraph::capture_end() of LibTorch 2.11 leaves its allocators as they are when a capture has
// failed: they would ask a graph that is gone where to allocate, and keep the pool.
struct Graph {
  ~Graph() {
    // The recording goes first, and gives back its own use of the pool. What is left is that of a
    // capture that has failed.
    recorded.reset();
    is_done([&] {
      if (allocator::getPoolUseCount(device, pool) == 0) return;
      allocator::releasePool(device, pool);
      release_pool(*at::getHostAllocator(at::kCUDA), pool);
    });
  }

  bool is_whole() {
    return is_done([&] { recorded->pool(); });
  }

  void leave_capture() noexcept {
    is_done([] { end_capture(c10::cuda::getCurrentCUDAStream()); });
    is_done([&] { allocator::endAllocateToPool(device, pool); });
    is_done([&] { leave_pool(*at::getHostAllocator(at::kCUDA), pool); });
  }

  c10::DeviceIndex device = c10::cuda::current_device();
  c10::MempoolId_t pool = at::cuda::graph_pool_handle();
  std::optional<at::cuda::CUDAGraph> recorded{std::in_place, /*keep_graph=*/true};
};

// Torch would report it of the next kernel.
void forget_error() { static_cast<void>(cudaGetLastError()); }

const char* begin(void** graph) {
  return reason_of_failure([&] {
    auto made = std::make_unique<Graph>();
    try {
      // Readers' threads may call CUDA meanwhile.
      made->recorded->capture_begin(made->pool, cudaStreamCaptureModeThreadLocal);
    } catch (...) {
      // LibTorch may have begun to send allocations to the pool before it failed.
      made->leave_capture();
      forget_error();
      throw;
    }
    *graph = made.release();
  });
}

const char* end(void* handle) {
  auto& graph = *static_cast<Graph*>(handle);
  const char* reason = reason_of_failure([&] {
    graph.recorded->capture_end();
    check_memory(graph.recorded->raw_cuda_graph());
    graph.recorded->instantiate();
  });
  if (reason == nullptr) return nullptr;
  // A capture that ended well but cannot be replayed has left nothing behind.
  if (!graph.is_whole()) graph.leave_capture();
  forget_error();
  return reason;
}

const char* replay(void* handle) {
  return reason_of_failure([&] { static_cast<Graph*>(handle)->recorded->replay(); });
}

void destroy(void* handle) { delete static_cast<Graph*>(handle); }

}  // namespace
}  // namespace tally::model

extern "C" {
// The name that kGraphCalls says.
extern const tally::model::CudaGraphApi kTallyGraphCalls;
const tally::model::CudaGraphApi kTallyGraphCalls{tally::model::begin, tally::model::end,
                                                  tally::model::replay, tally::model::destroy};
}
