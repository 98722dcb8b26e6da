#include "nccl_library.hpp"

#include <filesystem>

#include <tally/base/loaded_libraries.hpp>

namespace tally::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libnccl.so.2";

// libtorch_cpu.so knows its neighbours as $ORIGIN/../../nvidia/nccl/lib.
fs::path beside_torch(const std::vector<std::string>& loaded) {
  const auto torch = copies_of("libtorch_cpu.so", loaded);
  if (torch.empty()) return {};
  const fs::path packages = fs::path(torch.front()).parent_path().parent_path().parent_path();
  return packages / "nvidia" / "nccl" / "lib" / kLibrary;
}

}  // namespace

std::string choose_nccl(const std::vector<std::string>& loaded) {
  require_single_copies({"libnccl.so"}, loaded);
  const auto copies = copies_of("libnccl.so", loaded);
  if (!copies.empty()) return copies.front();
  const fs::path wheel = beside_torch(loaded);
  std::error_code ignored;
  return !wheel.empty() && fs::exists(wheel, ignored) ? wheel.string() : std::string(kLibrary);
}

}  // namespace tally::comm
