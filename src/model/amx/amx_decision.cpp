#include "amx/amx_decision.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tally::model {
namespace {

// https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html: all that end below
// AMX. Any other word, and one that oneDNN does not know, allows everything.
constexpr std::array<std::string_view, 11> kOnednnWithoutAmx{"SSE41",
                                                             "AVX",
                                                             "AVX2",
                                                             "AVX2_VNNI",
                                                             "AVX2_VNNI_2",
                                                             "AVX512_CORE",
                                                             "AVX512_CORE_VNNI",
                                                             "AVX512_CORE_BF16",
                                                             "AVX512_CORE_FP16",
                                                             "AVX10_1_512",
                                                             "AVX10_2_512"};

// Intel's "Instruction Set Specific Dispatching" (oneMKL's developer guide): E4 is the first with
// AMX. Whether other case is understood is not said, so it is not relied on.
constexpr std::array<std::string_view, 8> kMklWithoutAmx{
    "SSE4_2", "AVX", "AVX2", "AVX2_E1", "AVX512", "AVX512_E1", "AVX512_E2", "AVX512_E3"};

}  // namespace

// Where LibTorch 2.11 uses AMX on CPUs:
// - oneDNN, also by its graphs and micro-kernels (at::cpublas::brgemm): obeys ONEDNN_MAX_CPU_ISA.
// - MKL's own products of bf16 and int8 (gemm_bf16bf16f32): obey MKL_ENABLE_INSTRUCTIONS, as far as
//   the processor is Intel's, and no others have AMX.
// - Code that Inductor compiled into a package, if it was tuned (max_autotune) for a CPU with AMX:
//   no variable reaches it. Our exporter tunes for GPUs only; otherwise oneDNN and MKL are called.
// - XNNPACK's products of int8, in models that were optimized for phones: no variable either, but
//   of weights in 8 bits alone.
// The caps keep AVX-512 and its bf16 where the processor has them, and force nothing where not.
AmxDecision decide_amx(const AmxFacts& facts) {
  AmxDecision decision;
  decision.is_left_out = facts.is_announced && !facts.works;
  if (!decision.is_left_out) return decision;
  std::string onednn_cap = facts.onednn_cap;  // read in any case
  std::ranges::transform(onednn_cap, onednn_cap.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::find(kOnednnWithoutAmx, onednn_cap) == kOnednnWithoutAmx.end()) {
    decision.to_set.push_back({"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"});
  }
  if (std::ranges::find(kMklWithoutAmx, facts.mkl_cap) == kMklWithoutAmx.end()) {
    decision.to_set.push_back({"MKL_ENABLE_INSTRUCTIONS", "AVX512_E3"});
  }
  return decision;
}

}  // namespace tally::model
