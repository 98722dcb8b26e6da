// How the checkpoint at a path lies there: seen by names, before anything is opened.
#pragma once

#include <filesystem>
#include <optional>

namespace tally::weights {

enum class LayoutKind {
  file,
  shards,  // an index and the files that it names
  dcp,     // torch.distributed.checkpoint
  deepspeed,
};

struct Layout {
  LayoutKind kind = LayoutKind::file;
  std::filesystem::path path;  // the file, the index, or the folder that holds the files
};

// A file is an index by its name, else one file. A folder is, in this order,
//   distributed, if it holds .metadata;
//   what transformers would load: model.safetensors, its index, pytorch_model.bin, its index;
//   of another index, of consolidated.* or of *.safetensors the only one;
//   DeepSpeed's, by *_model_states.pt, or by `latest`, which names a folder in it;
//   what lies in its folder pytorch_model_fsdp_0 (accelerate).
// None for any other folder. Error(model) if of several none comes first, or `latest` is wrong.
std::optional<Layout> find_layout(const std::filesystem::path& path);

}  // namespace tally::weights
