// SPDX-License-Identifier: Apache-2.0

#include <tally/base/interrupt.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>

namespace tally {
namespace {

namespace fs = std::filesystem;

fs::path new_folder() {
  std::string pattern = (fs::temp_directory_path() / "tally-signal-XXXXXX").string();
  return ::mkdtemp(pattern.data());
}

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};

TEST(Interrupt, RemovesTheListedAndDiesOfTheSignal) {
  for (const int signal_number : kSignals) {
    const fs::path folder = new_folder();
    const fs::path file = folder / "events.jsonl";
    const auto die = [&] {
      const rlimit no_core{0, 0};  // which some of them would leave
      ::setrlimit(RLIMIT_CORE, &no_core);
      std::ofstream(file) << "x";
      remove_on_interrupt({file, folder / "never-made"}, {folder});
      std::raise(signal_number);
    };
    EXPECT_EXIT(die(), ::testing::KilledBySignal(signal_number), "incomplete result was removed");
    EXPECT_FALSE(fs::exists(folder)) << signal_number;
  }
}

TEST(Interrupt, WhatNohupIgnoresStaysIgnored) {
  const fs::path folder = new_folder();
  const auto go_on = [&] {
    std::signal(SIGHUP, SIG_IGN);
    remove_on_interrupt({}, {folder});
    std::raise(SIGHUP);
    std::_Exit(fs::exists(folder) ? 3 : 1);
  };
  EXPECT_EXIT(go_on(), ::testing::ExitedWithCode(3), "");
  fs::remove(folder);
}

TEST(Interrupt, KeepsProgressAndItsEventsAndEndsWith75) {
  using Names = std::vector<std::string>;
  for (const Names& names :
       {Names{}, Names{"part-1.records", "part-1.state.partial-7"},
        Names{"part-1.records", "part-1.state"}, Names{"part-1.records", "notes of a user"}}) {
    const fs::path folder = new_folder();
    const bool has_progress = names.size() > 1 && !names.back().ends_with("-7");
    const auto die = [&] {
      fs::create_directory(folder / "progress");
      for (const auto& name : names) std::ofstream(folder / "progress" / name) << "x";
      std::ofstream(folder / "events.jsonl") << "x";
      std::ofstream(folder / "report.json.partial") << "x";
      remove_on_interrupt({folder / "report.json.partial"}, {folder}, {},
                          {{folder / "progress", "part-", ".state"}, {folder / "events.jsonl"}});
      std::raise(SIGTERM);
    };
    if (has_progress) {
      EXPECT_EXIT(die(), ::testing::ExitedWithCode(75), "--resume goes on from it");
    } else {
      EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGTERM), "incomplete result was removed");
    }
    EXPECT_EQ(fs::exists(folder / "events.jsonl"), has_progress);
    EXPECT_EQ(fs::exists(folder / "progress"), has_progress);
    EXPECT_EQ(fs::exists(folder), has_progress);
    EXPECT_EQ(fs::exists(folder / "progress" / "part-1.state"),
              std::ranges::count(names, "part-1.state") > 0);
    EXPECT_FALSE(fs::exists(folder / "report.json.partial"));
    fs::remove_all(folder);
  }
}

TEST(Interrupt, AskingEndsWithItsScope) {
  const auto stop = [] {
    {
      const StopOnInterrupt asks;
      { const StopOnInterrupt within; }
      std::raise(SIGTERM);
      if (!asked_to_stop()) std::_Exit(1);
    }
    const StopOnInterrupt again;
    if (asked_to_stop()) std::_Exit(2);
    std::_Exit(3);
  };
  EXPECT_EXIT(stop(), ::testing::ExitedWithCode(3), "");
  const auto die = [] {
    { const StopOnInterrupt asks; }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGTERM), "");
}

// A rank that was asked to stop, and that its batch keeps from doing so.
[[noreturn]] void compute_for_ever(const fs::path& file, int ready) {
  std::ofstream(file) << "x";
  remove_on_interrupt({file}, {});
  end_with_launcher();
  const StopOnInterrupt asks;
  if (::write(ready, "r", 1) != 1) std::_Exit(1);
  for (;;) ::pause();
}

// Open MPI's launcher kills soon after it has sent SIGTERM, and sooner since it is PRRTE's.
TEST(Interrupt, WhatIsIncompleteIsRemovedBeforeTheLauncherKills) {
  const fs::path folder = new_folder();
  const auto launch = [&](bool is_prrte) {
    ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    if (is_prrte) ::setenv("PRTE_LAUNCHED", "1", 1);
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) std::_Exit(1);
    const pid_t rank = ::fork();
    if (rank == 0) compute_for_ever(folder / "a", ready[1]);
    char answer = 0;
    if (::read(ready[0], &answer, 1) != 1) std::_Exit(1);
    ::kill(rank, SIGTERM);
    int status = 0;
    if (::waitpid(rank, &status, 0) != rank) std::_Exit(1);
    std::_Exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 3 : 2);
  };
  for (const bool is_prrte : {false, true}) {
    EXPECT_EXIT(launch(is_prrte), ::testing::ExitedWithCode(3), "incomplete result was removed");
    EXPECT_FALSE(fs::exists(folder / "a"));
  }
  fs::remove_all(folder);
}

TEST(Interrupt, OnlyAsksToStopUntilItIsSaidAgain) {
  for (const int signal_number : kSignals) {
    const auto stop = [&] {
      const StopOnInterrupt asks;
      for (const int warning : {SIGUSR1, SIGUSR2, SIGXCPU}) {
        std::raise(warning);
        std::raise(warning);
      }
      if (!asked_to_stop()) std::_Exit(1);
      std::raise(signal_number == SIGQUIT ? SIGTERM : signal_number);  // without a core file
      std::_Exit(3);
    };
    const bool only_warns =
        signal_number == SIGUSR1 || signal_number == SIGUSR2 || signal_number == SIGXCPU;
    if (only_warns) {
      EXPECT_EXIT(stop(), ::testing::ExitedWithCode(3), "") << signal_number;
    } else {
      EXPECT_DEATH(stop(), "") << signal_number;
    }
  }
}

TEST(Interrupt, TheTwoSigtermsOfATimeLimitAreOneRequest) {
  const auto stop = [](int last) {
    const StopOnInterrupt asks;
    std::raise(SIGTERM);
    std::raise(SIGTERM);
    std::raise(SIGUSR1);
    if (!asked_to_stop()) std::_Exit(1);
    std::raise(last);
    std::_Exit(3);
  };
  EXPECT_EXIT(stop(SIGTERM), ::testing::ExitedWithCode(3), "");
  EXPECT_EXIT(stop(SIGINT), ::testing::KilledBySignal(SIGINT), "");
  const auto warned = [] {
    const StopOnInterrupt asks;
    std::raise(SIGUSR1);
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(warned(), ::testing::KilledBySignal(SIGTERM), "");
}

// Starts a process, by a thread that ends at once, whose child has a file to remove. The process
// ends, as a launcher that was killed, when its child says that it outlived the thread.
pid_t start_launcher_and_rank(const fs::path& file, std::array<int, 2> ready) {
  const pid_t launcher = ::fork();
  if (launcher != 0) return launcher;
  pid_t rank = 0;
  std::array<int, 2> told{};
  if (::pipe(told.data()) != 0) std::_Exit(1);
  std::thread([&] {
    rank = ::fork();
    if (rank == 0) {
      sigset_t all;
      sigset_t none;
      sigfillset(&all);
      sigemptyset(&none);
      ::sigprocmask(SIG_BLOCK, &all, nullptr);
      std::ofstream(file) << "x";
      remove_on_interrupt({file}, {});
      end_with_launcher();
      for (;;) {
        if (::write(told[1], "r", 1) != 1) std::_Exit(1);
        ::sigsuspend(&none);  // returns when a handler has been called, and did not end this
      }
    }
    char answer = 0;
    if (::read(told[0], &answer, 1) != 1) std::_Exit(1);
  }).join();
  char answer = 0;
  if (::read(told[0], &answer, 1) != 1) std::_Exit(1);
  if (::write(ready[1], &rank, sizeof rank) != sizeof rank) std::_Exit(1);
  std::_Exit(0);
}

TEST(Interrupt, ALauncherThatEndsEndsItsRanksButItsThreadsDoNot) {
  const fs::path folder = new_folder();
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that the orphan is ours to wait for
  const pid_t launcher = start_launcher_and_rank(folder / "events.jsonl", ready);
  pid_t rank = 0;
  ASSERT_EQ(::read(ready[0], &rank, sizeof rank), ssize_t{sizeof rank});
  int status = 0;
  ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
  ASSERT_EQ(::waitpid(rank, &status, 0), rank);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(fs::is_empty(folder));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  fs::remove(folder);
}

TEST(Interrupt, AFileThatGrowsTooLargeIsAnErrorOfItsOwn) {
  const fs::path folder = new_folder();
  const auto write = [&] {
    let_writes_fail();
    const rlimit short_files{10, 10};
    ::setrlimit(RLIMIT_FSIZE, &short_files);
    try {
      write_file_atomically(folder / "report.json", "more than ten bytes");
    } catch (const Error& error) {
      std::_Exit(exit_code(error.kind()));
    }
  };
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(6), "");
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove(folder);
}

TEST(Interrupt, AnEmptyListRemovesNothing) {
  const fs::path folder = new_folder();
  const auto die = [&] {
    remove_on_interrupt({}, {folder});
    remove_on_interrupt({}, {});
    std::raise(SIGINT);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_TRUE(fs::exists(folder));
  fs::remove(folder);
}

TEST(Interrupt, OneThatWaitsDiesOfTheSignalToo) {
  const auto die = [] {
    wait_on_interrupt();
    std::raise(SIGTERM);
  };
  const Stopwatch watch;
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_GT(watch.elapsed_s(), 1) << "the launcher's patience, in which another rank cleans up";
}

}  // namespace
}  // namespace tally
