#include <tally/base/loaded_libraries.hpp>

#include <link.h>

#include <filesystem>
#include <set>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& file) {
  std::error_code ignored;
  const fs::path path = fs::canonical(file, ignored);
  return path.empty() ? file : path.string();
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

std::vector<std::string> copies_of(std::string_view name, const std::vector<std::string>& loaded) {
  std::set<std::string> copies;
  for (const auto& file : loaded) {
    if (fs::path(file).filename().string().starts_with(name)) copies.insert(real_path(file));
  }
  return {copies.begin(), copies.end()};
}

void require_single_copies(const std::vector<std::string_view>& names,
                           const std::vector<std::string>& loaded) {
  for (const auto name : names) {
    const auto copies = copies_of(name, loaded);
    if (copies.size() < 2) continue;
    throw Error(
        ErrorKind::environment,
        format("two copies of {} are in this process: {} and {}", name, copies[0], copies[1]),
        "Keep one of them out of LD_PRELOAD and LD_LIBRARY_PATH.");
  }
}

}  // namespace tally
