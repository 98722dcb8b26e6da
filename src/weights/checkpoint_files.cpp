// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint_files.hpp>

#include "checkpoint_error.hpp"
#include "dcp/dcp.hpp"
#include "deepspeed/deepspeed_files.hpp"
#include "safetensors/shards.hpp"

namespace tally::weights {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Takes the digits from the front of `text`; without leading zeros, the longer number is larger.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit) - text.begin();
  auto digits = text.substr(0, static_cast<std::size_t>(end));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

bool natural_less(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const auto first = take_number(left);
      const auto second = take_number(right);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
      continue;
    }
    if (left.front() != right.front()) return left.front() < right.front();
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  return left.size() < right.size();
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(ErrorKind::model, format("folder '{}' cannot be listed: {}",
                                         printable(folder.string()), error.code().message()));
  }
  std::ranges::sort(names, natural_less);
  return names;
}

std::vector<std::string> ending_in(const std::vector<std::string>& names, std::string_view ending) {
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (name.ends_with(ending) && !name.starts_with('.')) found.push_back(name);
  }
  return found;
}

namespace {

namespace fs = std::filesystem;

// `latest` holds the name of one folder. Of a file that is something else no more is read.
constexpr std::uint64_t kLongestTag = 4096;

// Indices are called model.safetensors.index.json, or ….index.fp16.json for a variant.
bool is_index(std::string_view name) {
  return name.ends_with(".json") && name.find(".index.") != std::string_view::npos;
}

Layout of_file(const fs::path& path) {
  return {is_index(path.filename().string()) ? LayoutKind::shards : LayoutKind::file, path};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The only file for which `fits` holds, none if there is none. Throws Error(model) for two: nothing
// says which of them the user means.
template <class Fits>
std::optional<Layout> only_one(const fs::path& folder, const std::vector<std::string>& names,
                               Fits fits) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found), fits);
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return of_file(folder / found.front());
  throw Error(ErrorKind::model,
              format("folder '{}' holds both '{}' and '{}'", printable(folder.string()),
                     printable(found[0]), printable(found[1])),
              "Give one of them.");
}

// Files with the names that libraries give them come first. A name that is not known counts only
// where there is one such file in the folder.
std::optional<Layout> find_files(const fs::path& folder, const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 5> kUsualNames{
      "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
      "pytorch_model.bin.index.json", "pytorch_model_fsdp.bin"};
  for (const auto name : kUsualNames) {
    if (has(names, name)) return of_file(folder / name);
  }
  if (auto index = only_one(folder, names, is_index)) return index;
  // Checkpoints of Meta and Mistral have these names: consolidated.00.pth,
  // consolidated.safetensors.
  const auto consolidated = [](std::string_view name) {
    return name.starts_with("consolidated.") && !name.ends_with(".json");
  };
  if (auto file = only_one(folder, names, consolidated)) return file;
  return only_one(folder, names, [](std::string_view name) {
    return name.ends_with(".safetensors") && !name.starts_with('.');
  });
}

// DeepSpeed writes the name of the newest step's folder to `latest`. Throws Error(model) where the
// name leads out of the folder, or to nothing.
Layout latest_of(const fs::path& folder) {
  const auto latest = folder / "latest";
  const FileSource file(latest);
  const auto bytes = file.read(0, std::min(file.size(), kLongestTag));
  const std::string text(as_text(bytes));
  const auto first = text.find_first_not_of(" \t\r\n");
  const auto tag = first == std::string::npos
                       ? std::string()
                       : text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
  if (!is_plain_name(tag)) throw unreadable(latest.string(), "it names no folder");
  if (std::error_code ignored; !fs::is_directory(folder / tag, ignored)) {
    throw unreadable(latest.string(), format("the folder '{}' that it names is missing", tag));
  }
  return {LayoutKind::deepspeed, folder / tag};
}

}  // namespace

// The order is part of the contract: checkpoint_files.hpp and docs/checkpoints.md list it.
std::optional<Layout> find_layout(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return of_file(path);
  const auto names = names_in(path);
  if (has(names, ".metadata")) return Layout{LayoutKind::dcp, path};
  if (auto files = find_files(path, names)) return files;
  if (!ending_in(names, "_model_states.pt").empty()) return Layout{LayoutKind::deepspeed, path};
  if (has(names, "latest")) return latest_of(path);
  const auto inner = path / "pytorch_model_fsdp_0";
  if (fs::exists(inner / ".metadata", ignored)) return Layout{LayoutKind::dcp, inner};
  return std::nullopt;
}

namespace {

namespace fs = std::filesystem;
using Files = std::vector<fs::path>;

bool is_named_so(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kEndings{".pt",  ".pth",  ".th",
                                                     ".bin", ".ckpt", ".safetensors"};
  const auto ending = path.extension().string();
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

Files shards_and_index(const fs::path& index) {
  Files files{index};
  for (const auto& shard : read_shard_index(index).shards) {
    files.push_back(index.parent_path() / shard);
  }
  return files;
}

// `folder` holds the files. `path` is the same folder, or the one above, whose file `latest` names
// it. In the second case `latest` is a file of the checkpoint: once it names another folder,
// another checkpoint is at `path`.
Files deepspeed_files(const fs::path& folder, const fs::path& path) {
  auto found = find_deepspeed_files(folder);
  auto files = std::move(found.model_states);
  std::ranges::move(found.optim_states, std::back_inserter(files));
  if (folder != path) files.push_back(path / "latest");
  return files;
}

}  // namespace

Files checkpoint_files(const fs::path& path) {
  std::error_code ignored;
  const auto layout = fs::exists(path, ignored) ? find_layout(path) : std::nullopt;
  if (!layout) return {};
  switch (layout->kind) {
    case LayoutKind::file:
      return is_named_so(layout->path) ? Files{layout->path} : Files{};
    case LayoutKind::shards:
      return shards_and_index(layout->path);
    case LayoutKind::dcp:
      return dcp_files(layout->path);
    case LayoutKind::deepspeed:
      return deepspeed_files(layout->path, path);
  }
  return {};
}

}  // namespace tally::weights
