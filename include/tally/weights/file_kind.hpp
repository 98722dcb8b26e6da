// SPDX-License-Identifier: Apache-2.0
// Finds from its bytes the kind of a file that is given as model or weights.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {

enum class FileKind {
  torchscript,
  aoti_package,       // .pt2
  state_dict,         // torch.save of tensors, zip form
  legacy_checkpoint,  // torch.save before PyTorch 1.6
  safetensors,
  hdf5,
  onnx,
  openvino_xml,  // with its weights in a .bin of the same name
  other,
};

std::string_view description(FileKind kind);  // "a TorchScript model"
FileKind probe(const ByteSource& bytes);
FileKind probe(std::span<const std::byte> bytes);

// What can be said of bytes of no known kind, as the end of a sentence: "is empty".
std::string unknown_content(const ByteSource& bytes);
// Whether it begins as a zip archive and the end is missing.
bool is_cut_archive(const ByteSource& bytes);
// Whether another copy of such a file may be a good one: it is a broken zip archive, or empty.
bool may_be_cut(const ByteSource& bytes);

}  // namespace tally::weights
