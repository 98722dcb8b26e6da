// SPDX-License-Identifier: Apache-2.0
#include "deepspeed/deepspeed_files.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "checkpoint_error.hpp"
#include "checkpoint_files.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWholeModel = "mp_rank_00_model_states.pt";

std::string rank_name(std::string_view prefix, std::size_t rank, std::string_view ending) {
  return format("{}zero_pp_rank_{}_mp_rank_00{}", prefix, rank, ending);
}

Error split_otherwise(const fs::path& folder, std::string_view name) {
  return {ErrorKind::model,
          format("weights '{}': '{}' is of a model-parallel, pipelined or expert-parallel model, "
                 "which is not read",
                 printable(folder.string()), printable(name)),
          "Convert it with DeepSpeed's ds_to_universal.py or save the whole state_dict()."};
}

// The files of all ranks in the order of ranks. The names come in natural order, so the name at
// place R must be that of rank R: the first that is not shows which file is missing.
std::vector<fs::path> of_ranks(const fs::path& folder, const std::vector<std::string>& names,
                               std::string_view ending) {
  const std::string_view first = names.front();
  const auto prefix = first.substr(0, std::min(first.find("zero_pp_rank_"), first.size()));
  const bool known = prefix.empty() || prefix == "bf16_" || prefix == "fp16_";
  std::vector<fs::path> files;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto expected = rank_name(prefix, rank, ending);
    if (!known || !names[rank].starts_with(format("{}zero_pp_rank_", prefix)) ||
        !names[rank].ends_with(format("_mp_rank_00{}", ending))) {
      throw split_otherwise(folder, names[rank]);
    }
    if (names[rank] != expected) {
      throw unreadable(folder.string(), format("its file '{}' is missing", expected));
    }
    files.push_back(folder / expected);
  }
  return files;
}

}  // namespace

DeepSpeedFiles find_deepspeed_files(const fs::path& folder) {
  const auto names = names_in(folder);
  const auto model = ending_in(names, "_model_states.pt");
  const auto optim = ending_in(names, "_optim_states.pt");
  // Pipelines save each layer in a file of its own: layer_00-model_00-model_states.pt.
  for (const auto& name : ending_in(names, "model_states.pt")) {
    if (name.starts_with("layer_")) throw split_otherwise(folder, name);
  }
  if (model.empty()) {
    throw unreadable(folder.string(), "it holds no *_model_states.pt of DeepSpeed");
  }
  DeepSpeedFiles found;
  if (model.front() == kWholeModel) {
    if (model.size() > 1) throw split_otherwise(folder, model[1]);
    found.model_states = {folder / kWholeModel};
  } else {
    found.model_states = of_ranks(folder, model, "_model_states.pt");
  }
  if (!optim.empty()) found.optim_states = of_ranks(folder, optim, "_optim_states.pt");
  return found;
}

}  // namespace tally::weights
