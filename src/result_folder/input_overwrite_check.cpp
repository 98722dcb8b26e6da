// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/input_overwrite_check.hpp>

#include <algorithm>
#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/checkpoint_files.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

// What is wrong with a checkpoint is said where it is read.
std::vector<fs::path> weight_files(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  try {
    return weights::checkpoint_files(path);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<Input> inputs_of(const config::RunConfig& config) {
  std::vector<Input> inputs;
  const auto add = [&](std::string_view option, const fs::path& file) {
    if (!file.empty()) inputs.push_back({option, file});
  };
  add("data", config.files.data);
  add("model", config.files.model);
  if (!config.files.model.empty()) add("model", config.files.model + ".json");  // its card
  if (!config.files.weights.empty()) {
    for (const auto& file : weight_files(config.files.weights)) add("weights", file);
  }
  add("predictions", config.files.predictions);
  if (!config.files.predictions.empty()) {
    add("predictions",
        fs::path(config.files.predictions) / "predictions.h5");  // of a result's folder
  }
  add("class-weights", config.scoring.class_weights);
  for (const auto& [name, text] : config.settings) {
    if (name == "config") add("config", text);
  }
  return inputs;
}

void require_no_input(const fs::path& file, const std::vector<Input>& inputs) {
  // Files are compared by device and inode, which sees through links; missing ones are equal to
  // none.
  std::error_code ignored;
  const auto found = std::ranges::find_if(
      inputs, [&](const Input& input) { return fs::equivalent(file, input.file, ignored); });
  if (found == inputs.end()) return;
  throw Error(ErrorKind::usage,
              format("the result would replace '{}', which the run reads (--{} {})",
                     printable(file.string()), found->option, printable(found->file.string())),
              "Name another folder with --output.");
}

}  // namespace tally::app
