// SPDX-License-Identifier: Apache-2.0
// A network as OpenVINO compiled it.
#pragma once

#include <memory>
#include <vector>

#include <openvino/openvino.hpp>

#include <tally/openvino/network.hpp>

namespace tally::openvino {

// `outputs`: the ports of the network.
std::unique_ptr<CompiledNetwork> make_compiled_network(ov::CompiledModel model,
                                                       const std::vector<Port>& outputs);

}  // namespace tally::openvino
