// SPDX-License-Identifier: Apache-2.0
// Records a device's work as CUDA graphs, to have it done again by one call.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <tally/device/device.hpp>

#include "cuda_graph/cuda_graph_api.hpp"

namespace tally::model {

class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // Enqueues the recorded work, which reads and writes the memory that it was recorded with.
  virtual void replay() = 0;
};

class GraphCapture {
 public:
  virtual ~GraphCapture() = default;

  // `enqueue` is called once, and what it enqueues is recorded instead of done. Throws what it
  // throws, or Error(environment) if its work cannot be recorded; nothing is left of it then.
  virtual std::unique_ptr<CapturedGraph> record(const std::function<void()>& enqueue) = 0;

  // The host waits until all enqueued work is done.
  virtual void wait() = 0;
  // A clock that only grows, in seconds.
  virtual double now_s() = 0;
};

// From the library beside this program, or wherever else the loader finds it by its name. After
// load_cuda_support(). Error(environment) if it is not there.
const CudaGraphApi& load_cuda_graph_api(const std::string& library = kGraphLibrary);

// Recordings are replayed where StreamScope says, as they are made. `calls` outlive all of them.
std::unique_ptr<GraphCapture> make_cuda_graph_capture(const CudaGraphApi& calls,
                                                      const device::Device& device);

}  // namespace tally::model
