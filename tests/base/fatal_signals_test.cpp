// SPDX-License-Identifier: Apache-2.0
#include <tally/base/fatal_signals.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <tally/base/current_work.hpp>
#include <tally/base/interrupt.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

struct Fatal {
  int number;
  const char* pattern;
};

constexpr std::array kFatal{
    Fatal{SIGILL, "signal SIGILL \\(the processor lacks an instruction"},
    Fatal{SIGBUS, "signal SIGBUS \\(a file that is mapped into memory was cut short, or /dev/shm"},
    Fatal{SIGSEGV, "signal SIGSEGV \\(a defect of a library or of tally, or a damaged"},
    Fatal{SIGFPE, "signal SIGFPE \\(a division by zero"},
    Fatal{SIGABRT, "signal SIGABRT \\(a library gave up"}};

class FatalSignals : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction now {};
    ::sigaction(SIGSEGV, nullptr, &now);
    if (now.sa_handler != SIG_DFL) GTEST_SKIP() << "a sanitizer has these signals";
  }
  // In a process that is to die.
  static void begin() {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    speak_of_fatal_signals();
  }
};

TEST_F(FatalSignals, EachIsOneLineWithItsLikelyCauseAndEndsTheProcess) {
  for (const auto& fatal : kFatal) {
    const auto die = [&] {
      begin();
      std::raise(fatal.number);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(fatal.number),
                std::string("^tally: error\\[9\\]: start: ") + fatal.pattern);
  }
}

TEST_F(FatalSignals, TheLineNamesRankPhaseAndObject) {
  const auto die = [] {
    begin();
    name_rank_of_failures(2, 3);
    begin_phase("evaluate");
    const WorkScope data("data set 'val.h5'");
    note_samples(640, 64);
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV),
              "^tally: error\\[9\\] rank 2 on .*: evaluate, data set 'val.h5', samples 640 to 703: "
              "signal SIGSEGV");
}

TEST_F(FatalSignals, ALimitOnMemoryIsALikelyCause) {
  const auto die = [] {
    begin();
    const rlimit much{rlim_t{1} << 45, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &much);
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV),
              "signal SIGSEGV \\(memory ran out under 'ulimit -v', or a defect");
}

TEST_F(FatalSignals, OneThatAnotherProcessSendsNamesTheSender) {
  const auto die = [] {
    begin();
    ::kill(::getpid(), SIGBUS);
    for (;;) ::pause();
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGBUS), "signal SIGBUS \\(sent by process [0-9]+\\)");
}

TEST_F(FatalSignals, WhatIsIncompleteIsRemoved) {
  std::string pattern = (fs::temp_directory_path() / "tally-fatal-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  std::ofstream(folder / "events.jsonl") << "x";
  const auto die = [&] {
    begin();
    remove_on_interrupt({folder / "events.jsonl"}, {folder});
    std::raise(SIGFPE);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGFPE), "signal SIGFPE");
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(FatalSignals, StepsThatBelongTogetherAreLeftToTheNextRun) {
  std::string pattern = (fs::temp_directory_path() / "tally-fatal-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const auto die = [&] {
    begin();
    remove_on_interrupt({}, {folder});
    const HeldInterrupts held;
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV), "signal SIGSEGV");
  EXPECT_TRUE(fs::remove(folder));
}

template <class Exception>
void fail_with(const Exception& exception) {
  throw exception;
}

// Never ends, which the compiler cannot see.
int descend(volatile const char* above, bool is_end = false) {
  if (is_end) return 0;
  volatile char frame[1 << 12];
  frame[0] = above == nullptr ? char{0} : above[0];
  return descend(frame, frame[0] == 'x') + frame[0];
}

TEST_F(FatalSignals, AStackThatOverflowsSpeaks) {
  const auto die = [] {
    const rlimit small{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_STACK, &small);
    begin();
    name_rank_of_failures(0, 1);
    begin_phase("open_data");
    descend(nullptr);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV),
              "^tally: error\\[9\\]: open_data: signal SIGSEGV \\(the stack overflowed");
}

TEST_F(FatalSignals, ThreadsSayWhatTheyAreAtThemselves) {
  const auto die = [] {
    begin();
    begin_phase("evaluate");
    const WorkScope model("model 'net.pt'");
    std::thread([] {
      const WorkScope data("data set 'val.h5'");
      note_samples(0, 8);
      std::raise(SIGSEGV);
    }).join();
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV),
              "evaluate, data set 'val.h5', samples 0 to 7");
  const auto die_in_a_library = [] {
    begin();
    const WorkScope model("model 'net.pt'");
    std::thread([] { std::raise(SIGSEGV); }).join();
  };
  EXPECT_EXIT(die_in_a_library(), testing::KilledBySignal(SIGSEGV),
              "start, model 'net.pt': signal");
}

TEST_F(FatalSignals, OneOfTheRanksOfANodeSpeaks) {
  const auto die = [](int word) {
    begin();
    share_failure_claim(&word);
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(3), testing::KilledBySignal(SIGSEGV), "^$") << "another one came first";
  EXPECT_EXIT(die(0), testing::KilledBySignal(SIGSEGV), "error\\[9\\]");
}

TEST_F(FatalSignals, TheRecorderGetsTheParts) {
  const auto die = [] {
    begin();
    begin_phase("gather");
    record_failures([](const FailureRecord& failure) noexcept {
      const bool is_right = failure.code == 128 + SIGILL && failure.signal == "SIGILL" &&
                            failure.rank == 0 && !failure.host.empty() &&
                            failure.phase == "gather" && failure.object.empty() &&
                            failure.cause.starts_with("the processor");
      std::_Exit(is_right ? 33 : 1);
    });
    std::raise(SIGILL);
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(33), "");
}

TEST_F(FatalSignals, MemoryThatNobodyCatchesIsOfTheEnvironment) {
  const auto die = [] {
    begin();
    begin_phase("load_model");
    [&]() noexcept { fail_with(std::bad_alloc()); }();
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(5),
              "^tally: error\\[5\\]: load_model: out of memory\\. Raise 'ulimit -v'[^\n]*\n$");
}

TEST_F(FatalSignals, OtherExceptionsThatNobodyCatchesAreOneLine) {
  const auto die = [] {
    begin();
    [&]() noexcept { fail_with(std::runtime_error("odd\nthing")); }();
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGABRT),
              "^tally: error\\[9\\]: start: nobody caught: odd thing\\. [^\n]*\n$");
}

TEST_F(FatalSignals, WhatHandlesThemAlreadyIsLeftAlone) {
  const auto die = [] {
    std::signal(SIGSEGV, [](int) { std::_Exit(44); });
    begin();
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(44), "^$");
}

TEST(EndProcess, EndsItFromAnyThreadAndRemovesWhatIsIncomplete) {
  std::string pattern = (fs::temp_directory_path() / "tally-end-XXXXXX").string();
  const fs::path folder = ::mkdtemp(pattern.data());
  const auto end = [&] {
    remove_on_interrupt({}, {folder});
    std::thread([] { end_process(8, [] { std::fputs("first this\n", stderr); }); }).join();
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(8), "^first this\n");
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace tally
