// SPDX-License-Identifier: Apache-2.0
#include "cuda_graph/cuda_graph_capture.hpp"

#include <dlfcn.h>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_errors.hpp>

#include "load_torch_libraries.hpp"

namespace tally::model {
namespace {

void check(const char* reason) {
  if (reason == nullptr) return;
  throw Error(ErrorKind::environment,
              format("a CUDA graph failed ({})", libtorch::first_meaningful_line(reason)),
              "Run with --cuda-graphs off.");
}

// The capture begins when a graph is made: there is none that was not begun.
class Graph final : public CapturedGraph {
 public:
  explicit Graph(const CudaGraphApi& calls) : calls_(calls) { check(calls_.begin(&handle_)); }
  ~Graph() override { calls_.destroy(handle_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const char* end() { return calls_.end(handle_); }
  void replay() override { check(calls_.replay(handle_)); }

 private:
  const CudaGraphApi& calls_;
  void* handle_ = nullptr;
};

class CudaGraphCapture final : public GraphCapture {
 public:
  CudaGraphCapture(const CudaGraphApi& calls, device::Device device)
      : calls_(calls), device_(std::move(device)) {}

  std::unique_ptr<CapturedGraph> record(const std::function<void()>& enqueue) override {
    auto graph = std::make_unique<Graph>(calls_);
    try {
      // Until the capture ends, calls that wait for the device fail on this thread, so that it ends
      // in any case.
      enqueue();
    } catch (...) {
      graph->end();  // it says no more than that something failed
      throw;
    }
    check(graph->end());
    return graph;
  }

  void wait() override { wait_for(device_); }
  double now_s() override { return watch_.elapsed_s(); }

 private:
  const CudaGraphApi& calls_;
  device::Device device_;
  Stopwatch watch_;
};

}  // namespace

const CudaGraphApi& load_cuda_graph_api(const std::string& library) {
  // For good: a graph's code cannot come off while CUDA holds the graph.
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  const void* const calls = opened == nullptr ? nullptr : dlsym(opened, kGraphCalls);
  if (calls != nullptr) return *static_cast<const CudaGraphApi*>(calls);
  const char* reason = dlerror();
  throw Error(ErrorKind::environment,
              format("{} cannot be loaded ({})", library,
                     reason == nullptr ? "no reason was given" : reason),
              "Install tally whole, or run with --cuda-graphs off.");
}

std::unique_ptr<GraphCapture> make_cuda_graph_capture(const CudaGraphApi& calls,
                                                      const device::Device& device) {
  return std::make_unique<CudaGraphCapture>(calls, device);
}

}  // namespace tally::model
