// SPDX-License-Identifier: Apache-2.0
// Weights beside an ONNX file: which, and put into it.
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "onnx_weights.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto onnx = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> content(4096, std::byte{7});
  try {
    std::vector<openvino::WeightsFile> files;
    const auto names = openvino::weights_files_of_onnx(onnx);
    for (const auto& name : names) files.push_back({name, content});
    const auto whole = openvino::with_weights(onnx, files);
    const auto bytes = std::as_bytes(std::span(whole.data(), whole.size()));
    fuzz::require(openvino::weights_files_of_onnx(bytes).empty(), "all weights are in the file");
    fuzz::require(openvino::with_weights(bytes, {}) == whole, "nothing changes after that");
  } catch (const std::exception&) {  // of protozero, too
    ++fuzz::num_refused;
  }
  return 0;
}
