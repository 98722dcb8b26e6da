#include <tally/weights/checkpoint_files.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint_layout.hpp"
#include "dcp/dcp.hpp"
#include "deepspeed/deepspeed_files.hpp"
#include "safetensors/shards.hpp"

namespace tally::weights {
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

// `path`: the folder itself, or the one whose `latest` names it; then another is another
// checkpoint.
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
