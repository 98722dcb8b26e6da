#include "isa_cap.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace tally::model {
namespace {

// https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html; the second name is
// the older one.
std::string value_of_cap() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return {};
}

VectorSet parse(std::string cap) {
  std::ranges::transform(cap, cap.begin(), [](unsigned char c) { return std::toupper(c); });
  if (cap == "SSE41" || cap == "AVX") return VectorSet::none;
  return cap.starts_with("AVX2") ? VectorSet::avx2 : VectorSet::avx512;
}

}  // namespace

VectorSet allowed_vectors() {
  static const auto kAllowed = parse(value_of_cap());
  return kAllowed;
}

}  // namespace tally::model
