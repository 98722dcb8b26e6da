// SPDX-License-Identifier: Apache-2.0
#include "amx/amx_probe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <tally/base/files.hpp>
#include <tally/libtorch/isa_cap.hpp>
#include <tally/model/amx_probe.hpp>

namespace tally::model {
namespace {

constexpr unsigned kLongestSeconds = 10;  // an attempt that does not end has failed

// A child, not a handler of signals in this process: what is tried may change what the process may
// do (permission for AMX also asks more of every alternate stack), leave state in registers, or end
// in a signal that nobody can return from. vfork() would share the handlers and the memory.
//
// The child ends by itself, because a fault that nobody handles writes a core file, or a line in
// the kernel's log, in every run.
[[noreturn]] void attempt_and_exit(bool (*attempt)(), int result) {
  for (const int fault : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS}) {
    signal(fault, [](int) { _exit(1); });
  }
  alarm(kLongestSeconds);
  const bool is_reported = attempt() && write(result, "+", 1) == 1;
  _exit(is_reported ? 0 : 1);
}

// By a pipe, because a process whose SIGCHLD is ignored, as some launchers leave it, does not
// learn how its child ended.
bool says_success(int result) {
  char answer = 0;
  ssize_t count = 0;
  do count = read(result, &answer, 1);
  while (count < 0 && errno == EINTR);
  return count == 1;
}

}  // namespace

bool succeeds_in_child(bool (*attempt)()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return true;
  const UniqueDescriptor reading(ends[0]);
  UniqueDescriptor writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return true;
  if (child == 0) attempt_and_exit(attempt, writing.get());
  writing = UniqueDescriptor();  // so that reading ends when the child does
  const bool is_success = says_success(reading.get());
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return is_success;
}

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
AmxDecision decide_amx(const AmxSupport& support) {
  AmxDecision decision;
  decision.is_left_out = support.is_announced && !support.works;
  if (!decision.is_left_out) return decision;
  std::string onednn_cap = support.onednn_cap;  // read in any case
  std::ranges::transform(onednn_cap, onednn_cap.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::find(kOnednnWithoutAmx, onednn_cap) == kOnednnWithoutAmx.end()) {
    decision.to_set.push_back({"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"});
  }
  if (std::ranges::find(kMklWithoutAmx, support.mkl_cap) == kMklWithoutAmx.end()) {
    decision.to_set.push_back({"MKL_ENABLE_INSTRUCTIONS", "AVX512_E3"});
  }
  return decision;
}

namespace {

bool decide() {
  AmxSupport support;
  support.is_announced = announces_amx();
  support.works = support.is_announced && succeeds_in_child(multiply_tiles);
  support.onednn_cap = libtorch::onednn_cap();
  if (const char* cap = std::getenv("MKL_ENABLE_INSTRUCTIONS")) support.mkl_cap = cap;
  const auto decision = decide_amx(support);
  for (const auto& [name, value] : decision.to_set) setenv(name.c_str(), value.c_str(), 1);
  return decision.is_left_out;
}

}  // namespace

bool leave_out_broken_amx() {
  static const bool kIsLeftOut = decide();
  return kIsLeftOut;
}

}  // namespace tally::model
