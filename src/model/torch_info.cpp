// SPDX-License-Identifier: Apache-2.0
#include <tally/model/torch_info.hpp>

#include <algorithm>
#include <string>

#include <ATen/Version.h>

#include <tally/base/format.hpp>

namespace tally::model {
namespace {

// The value of "KEY=value" in LibTorch's description of its own build; empty if absent.
std::string build_setting(const std::string& config, const std::string& key) {
  const auto found = config.find(key + "=");
  if (found == std::string::npos) return {};
  const auto first = found + key.size() + 1;
  return config.substr(first, config.find_first_of(", \n", first) - first);
}

}  // namespace

// From the library that runs, not from the headers this was compiled with.
std::string torch_version() {
  const auto config = at::show_config();
  auto cuda = build_setting(config, "CUDA_VERSION");
  std::erase(cuda, '.');
  return format("{}+{}", build_setting(config, "TORCH_VERSION"),
                cuda.empty() ? "cpu" : "cu" + cuda);
}

std::string backend_description() {
  return format("LibTorch {}, {}", torch_version(), at::get_cpu_capability());
}

}  // namespace tally::model
