// What kind of file somebody gave as model or weights, found from its bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tally::model {

enum class FileKind {
  torchscript,
  aoti_package,       // .pt2
  state_dict,         // torch.save of tensors, zip form
  legacy_checkpoint,  // torch.save before PyTorch 1.6
  safetensors,
  hdf5,
  other,
};

std::string_view description(FileKind kind);  // "a TorchScript model"
FileKind probe(std::span<const std::byte> bytes);

}  // namespace tally::model
