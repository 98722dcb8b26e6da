// Records a GPU's work as CUDA graphs.
#pragma once

#include <memory>
#include <string>

#include <tally/device/device.hpp>

#include "graph_calls.hpp"
#include "recorder.hpp"

namespace tally::model {

// From the library beside this program, or wherever else the loader finds it by its name. After
// load_cuda_support(). Error(environment) if it is not there.
const GraphCalls& load_graph_calls(const std::string& library = kGraphLibrary);

// Recordings are replayed where StreamScope says, as they are made. `calls` outlive all of them.
std::unique_ptr<Recorder> make_graph_recorder(const GraphCalls& calls,
                                              const device::Device& device);

}  // namespace tally::model
