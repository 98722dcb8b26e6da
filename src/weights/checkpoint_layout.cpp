#include "checkpoint_layout.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <tally/base/byte_text.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_error.hpp"
#include "file_names.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestTag = 4096;

// "model.safetensors.index.json"; "….index.fp16.json" of a variant.
bool is_index(std::string_view name) {
  return name.ends_with(".json") && name.find(".index.") != std::string_view::npos;
}

Layout of_file(const fs::path& path) {
  return {is_index(path.filename().string()) ? LayoutKind::shards : LayoutKind::file, path};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The only one for which `fits` holds; none for none.
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

std::optional<Layout> find_files(const fs::path& folder, const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 5> kUsualNames{
      "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
      "pytorch_model.bin.index.json", "pytorch_model_fsdp.bin"};
  for (const auto name : kUsualNames) {
    if (has(names, name)) return of_file(folder / name);
  }
  if (auto index = only_one(folder, names, is_index)) return index;
  const auto consolidated = [](std::string_view name) {
    return name.starts_with("consolidated.") && !name.ends_with(".json");
  };
  if (auto file = only_one(folder, names, consolidated)) return file;
  return only_one(folder, names, [](std::string_view name) {
    return name.ends_with(".safetensors") && !name.starts_with('.');
  });
}

// The folder that `latest` names.
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

}  // namespace tally::weights
