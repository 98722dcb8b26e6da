#include "nccl_library.hpp"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libnccl.so.2";

// The same file may be loaded by several names.
fs::path real_path(const std::string& file) {
  std::error_code ignored;
  const fs::path path = fs::canonical(file, ignored);
  return path.empty() ? fs::path(file) : path;
}

bool is_nccl(const std::string& file) {
  return fs::path(file).filename().string().starts_with("libnccl.so");
}

// libtorch_cpu.so knows its neighbours as $ORIGIN/../../nvidia/nccl/lib.
fs::path beside_torch(const std::vector<std::string>& loaded) {
  const auto torch = std::ranges::find_if(loaded, [](const std::string& file) {
    return fs::path(file).filename() == "libtorch_cpu.so";
  });
  if (torch == loaded.end()) return {};
  const fs::path packages = real_path(*torch).parent_path().parent_path().parent_path();
  return packages / "nvidia" / "nccl" / "lib" / kLibrary;
}

}  // namespace

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &files);
  return files;
}

std::string choose_nccl(const std::vector<std::string>& loaded) {
  std::set<fs::path> copies;
  for (const auto& file : loaded) {
    if (is_nccl(file)) copies.insert(real_path(file));
  }
  if (copies.size() > 1) {
    throw Error(ErrorKind::environment,
                format("two copies of NCCL are in this process: {} and {}",
                       copies.begin()->string(), std::next(copies.begin())->string()),
                "Keep one of them out of LD_PRELOAD and LD_LIBRARY_PATH.");
  }
  if (!copies.empty()) return copies.begin()->string();
  const fs::path wheel = beside_torch(loaded);
  std::error_code ignored;
  return !wheel.empty() && fs::exists(wheel, ignored) ? wheel.string() : std::string(kLibrary);
}

}  // namespace tally::comm
