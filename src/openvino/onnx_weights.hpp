// SPDX-License-Identifier: Apache-2.0
// Weights that an ONNX file keeps in other files ("external data").
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tally/openvino/network.hpp>

namespace tally::openvino {

// As Engine::weights_files().
std::vector<std::string> weights_files_of_onnx(std::span<const std::byte> onnx);

// The same network with these weights in the file itself. Throws std::runtime_error where a tensor
// names a file that is not among them, or bytes that it does not have.
std::string with_weights(std::span<const std::byte> onnx, std::span<const WeightsFile> files);

}  // namespace tally::openvino
