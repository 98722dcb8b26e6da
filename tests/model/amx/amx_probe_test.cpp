// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include <tally/model/amx_probe.hpp>

#include "amx/amx_probe.hpp"

namespace tally::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const EnvironmentVariable kOnednnCap{"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"};
const EnvironmentVariable kMklCap{"MKL_ENABLE_INSTRUCTIONS", "AVX512_E3"};

AmxDecision of_broken(const std::string& onednn_cap, const std::string& mkl_cap) {
  return decide_amx(
      {.is_announced = true, .works = false, .onednn_cap = onednn_cap, .mkl_cap = mkl_cap});
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "(not set)" : value;
}

TEST(AmxDecision, ChangesNothingWhereAmxIsNotAnnounced) {
  for (const bool works : {false, true}) {
    const auto decision = decide_amx({.is_announced = false, .works = works});
    EXPECT_FALSE(decision.is_left_out);
    EXPECT_THAT(decision.to_set, IsEmpty());
  }
}

TEST(AmxDecision, ChangesNothingWhereAmxWorks) {
  const auto decision = decide_amx({.is_announced = true, .works = true});
  EXPECT_FALSE(decision.is_left_out);
  EXPECT_THAT(decision.to_set, IsEmpty());
}

TEST(AmxDecision, KeepsBothLibrariesFromBrokenAmx) {
  const auto decision = of_broken("", "");
  EXPECT_TRUE(decision.is_left_out);
  EXPECT_THAT(decision.to_set, ElementsAre(kOnednnCap, kMklCap));
}

TEST(AmxDecision, KeepsTheUsersCapThatLeavesAmxOut) {
  for (const auto* cap : {"SSE41", "AVX2", "avx2_vnni", "AVX512_CORE", "AVX512_CORE_BF16",
                          "AVX512_CORE_FP16", "AVX10_1_512"}) {
    const auto decision = of_broken(cap, "");
    EXPECT_TRUE(decision.is_left_out) << cap;
    EXPECT_THAT(decision.to_set, ElementsAre(kMklCap)) << cap;
  }
  for (const auto* cap : {"SSE4_2", "AVX2", "AVX512", "AVX512_E3"}) {
    EXPECT_THAT(of_broken("", cap).to_set, ElementsAre(kOnednnCap)) << cap;
  }
  EXPECT_THAT(of_broken("AVX2", "AVX2").to_set, IsEmpty());
}

TEST(AmxDecision, ReplacesTheUsersCapThatAllowsAmx) {
  for (const auto* cap : {"ALL", "DEFAULT", "AVX512_CORE_AMX", "AVX512_CORE_AMX_FP16",
                          "AVX10_1_512_AMX", "AVX10_2_512_AMX_2", "no such set"}) {
    EXPECT_THAT(of_broken(cap, "AVX2").to_set, ElementsAre(kOnednnCap)) << cap;
  }
  for (const auto* cap : {"AVX512_E4", "AVX512_E5", "AVX10", "no such set"}) {
    EXPECT_THAT(of_broken("AVX2", cap).to_set, ElementsAre(kMklCap)) << cap;
  }
}

TEST(ChildProcessTest, SaysWhatTheAttemptSays) {
  EXPECT_TRUE(succeeds_in_child([] { return true; }));
  EXPECT_FALSE(succeeds_in_child([] { return false; }));
}

TEST(ChildProcessTest, SurvivesAnIllegalInstruction) {
  EXPECT_FALSE(succeeds_in_child([]() -> bool { __builtin_trap(); }));
}

TEST(ChildProcessTest, SurvivesWhatNoHandlerCatches) {
  EXPECT_FALSE(succeeds_in_child([] { return raise(SIGKILL) == 0; }));
  EXPECT_FALSE(succeeds_in_child([] { return raise(SIGSEGV) == 0; }));
}

TEST(ChildProcessTest, LeavesThisProcessAsItIs) {
  struct sigaction before {
  }, after{};
  ASSERT_EQ(sigaction(SIGILL, nullptr, &before), 0);
  static int changed = 0;
  EXPECT_TRUE(succeeds_in_child([] { return ++changed == 1; }));
  EXPECT_EQ(changed, 0);
  ASSERT_EQ(sigaction(SIGILL, nullptr, &after), 0);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(ChildProcessTest, IsToldEvenIfNobodyListensForTheEndOfChildren) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const bool succeeds = succeeds_in_child([] { return true; });
  const bool fails = succeeds_in_child([]() -> bool { __builtin_trap(); });
  signal(SIGCHLD, before);
  EXPECT_TRUE(succeeds);
  EXPECT_FALSE(fails);
}

// The instructions themselves, wherever they are: either they run or the child ends, and this
// process goes on.
TEST(Amx, TryingItIsSurvived) {
  std::ifstream file("/proc/cpuinfo");
  const std::string info{std::istreambuf_iterator<char>(file), {}};
  const bool has_tiles = info.find(" amx_tile") != std::string::npos;
  EXPECT_TRUE(announces_amx() || !has_tiles);
  const bool works = succeeds_in_child(multiply_tiles);
  EXPECT_TRUE(announces_amx() || !works);
}

TEST(Amx, NothingChangesWhereItIsNotAnnounced) {
  if (announces_amx()) GTEST_SKIP() << "this processor announces AMX";
  const auto onednn = variable("ONEDNN_MAX_CPU_ISA"), mkl = variable("MKL_ENABLE_INSTRUCTIONS");
  EXPECT_FALSE(leave_out_broken_amx());
  EXPECT_EQ(variable("ONEDNN_MAX_CPU_ISA"), onednn);
  EXPECT_EQ(variable("MKL_ENABLE_INSTRUCTIONS"), mkl);
}

}  // namespace
}  // namespace tally::model
