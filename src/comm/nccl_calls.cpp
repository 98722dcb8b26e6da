// SPDX-License-Identifier: Apache-2.0
#include "nccl_calls.hpp"

#include <array>
#include <filesystem>

#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>

namespace tally::comm {

std::string name(NcclCode code) {
  static constexpr std::array<std::string_view, 8> kNames{
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? std::string(kNames[index])
                               : format("NCCL result {}", static_cast<int>(code));
}

// NCCL writes a version as 10000 * major + 100 * minor + patch since 2.9.
std::string nccl_version_text(int version) {
  return format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

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
  // Two copies in one process split the state of NCCL, and hang (docs/decisions/008).
  require_single_copies({"libnccl.so"}, loaded);
  const auto copies = copies_of("libnccl.so", loaded);
  if (!copies.empty()) return copies.front();
  const fs::path wheel = beside_torch(loaded);
  std::error_code ignored;
  return !wheel.empty() && fs::exists(wheel, ignored) ? wheel.string() : std::string(kLibrary);
}

}  // namespace tally::comm
