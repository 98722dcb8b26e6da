// Records a GPU's work as CUDA graphs.
#pragma once

#include <memory>
#include <string>

#include <tally/device/device.hpp>

#include "cuda_graph/cuda_graph_api.hpp"
#include "cuda_graph/graph_capture.hpp"

namespace tally::model {

// From the library beside this program, or wherever else the loader finds it by its name. After
// load_cuda_support(). Error(environment) if it is not there.
const CudaGraphApi& load_cuda_graph_api(const std::string& library = kGraphLibrary);

// Recordings are replayed where StreamScope says, as they are made. `calls` outlive all of them.
std::unique_ptr<GraphCapture> make_cuda_graph_capture(const CudaGraphApi& calls,
                                                      const device::Device& device);

}  // namespace tally::model
