// SPDX-License-Identifier: Apache-2.0
// How the checkpoint at a path lies there, and the names of files in a folder: seen before anything
// is opened.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::weights {

// Of a file in a folder itself: no path, nothing that leads out of it. What lies there may be a
// link: caches are made of them.
bool is_plain_name(std::string_view name);

// As people sort: "rank_10" after "rank_9".
bool natural_less(std::string_view left, std::string_view right);

// Of all that lies in `folder`, hidden or not, in that order. Error(model) if it cannot be listed.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Those that end so and are not hidden, as a shell's *ending finds them.
std::vector<std::string> ending_in(const std::vector<std::string>& names, std::string_view ending);

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
//   what transformers and accelerate would load: model.safetensors, its index, pytorch_model.bin,
//   its index, pytorch_model_fsdp.bin;
//   of another index, of consolidated.* or of *.safetensors the only one;
//   DeepSpeed's, by *_model_states.pt, or by `latest`, which names a folder in it;
//   what lies in its folder pytorch_model_fsdp_0 (accelerate).
// None for any other folder. Error(model) if of several none comes first, or `latest` is wrong.
std::optional<Layout> find_layout(const std::filesystem::path& path);

}  // namespace tally::weights
