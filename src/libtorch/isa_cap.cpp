// SPDX-License-Identifier: Apache-2.0
#include <tally/libtorch/isa_cap.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tally::libtorch {

VectorSet vectors_under(std::string cap) {
  std::ranges::transform(cap, cap.begin(), [](unsigned char c) { return std::toupper(c); });
  if (cap == "SSE41" || cap == "AVX") return VectorSet::none;
  return cap.starts_with("AVX2") ? VectorSet::avx2 : VectorSet::avx512;
}

// https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html; the second name is
// the older one, and read where the first is empty.
std::string onednn_cap() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

VectorSet allowed_vectors() {
  // oneDNN reads the variable once. A later change would leave the two with different instructions.
  static const auto kAllowed = vectors_under(onednn_cap());
  return kAllowed;
}

}  // namespace tally::libtorch
