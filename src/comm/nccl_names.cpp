#include <array>

#include <tally/base/format.hpp>

#include "nccl_calls.hpp"

namespace tally::comm {

std::string name(NcclCode code) {
  static constexpr std::array<std::string_view, 8> kNames{
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? std::string(kNames[index])
                               : format("NCCL result {}", static_cast<int>(code));
}

std::string nccl_version_text(int version) {
  return format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace tally::comm
