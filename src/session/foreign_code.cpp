// SPDX-License-Identifier: Apache-2.0
#include <tally/session/foreign_code.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>

#include <tally/base/format.hpp>

namespace tally::app {
namespace {

using Found = std::vector<std::pair<std::string, std::string>>;

// Of the loader (ld.so(8)), of Open MPI (where its components and its files of parameters are), and
// of NVIDIA's and Intel's profilers. Those of HDF5 load nothing (prepare_process()).
constexpr std::array kForAll{"LD_PRELOAD",
                             "LD_AUDIT",
                             "OMPI_MCA_mca_base_component_path",
                             "OMPI_MCA_mca_component_path",
                             "OMPI_MCA_mca_base_param_files",
                             "OMPI_MCA_mca_param_files",
                             "CUDA_INJECTION64_PATH",
                             "NVTX_INJECTION64_PATH",
                             "INTEL_LIBITTNOTIFY64",
                             "INTEL_JIT_PROFILER64"};

// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
constexpr std::array kForNccl{"NCCL_CONF_FILE", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN",
                              "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN"};

Found those_set(const auto& names) {
  Found found;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') found.emplace_back(name, value);
  }
  return found;
}

}  // namespace

Found foreign_code() { return those_set(kForAll); }

Found foreign_code_of_nccl() {
  Found found = those_set(kForNccl);
  // NCCL reads this file unless the variable names another one.
  const char* home = std::getenv("HOME");
  const char* other = std::getenv("NCCL_CONF_FILE");
  if (home == nullptr || (other != nullptr && *other != '\0')) return found;
  const auto file = std::filesystem::path(home) / ".nccl.conf";
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) found.emplace_back("~/.nccl.conf", file.string());
  return found;
}

std::optional<std::string> foreign_code_note(bool has_nccl) {
  Found found = foreign_code();
  if (has_nccl) {
    for (auto& entry : foreign_code_of_nccl()) found.push_back(std::move(entry));
  }
  if (found.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& entry : found) names.push_back(entry.first);
  return format(
      "set in the environment, where it brings in code or settings that are not Tally's: {}",
      fmt::join(names, ", "));
}

}  // namespace tally::app
