// SPDX-License-Identifier: Apache-2.0
// A run that fails, is killed or is asked to end at any of its file operations leaves the earlier
// result or its own, whole.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "replacing_fixture.hpp"

namespace tally::app {
namespace {

using ReplacingAResult = Replacing;

TEST_P(Replacing, AnErrorAtAnyOperation) {
  const int operations = count_operations();
  EXPECT_GT(operations, 30);
  int failed = 0;
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up();
    const std::string folder = run();
    const int code = run_with({folder.c_str(), at, EIO, 0, nullptr});
    const auto found = result_in(run());
    EXPECT_TRUE(code == 0 ? is_new(found) : is_old(found)) << "exit " << code;
    EXPECT_TRUE(code == 0 || code == exit_code(ErrorKind::output)) << "exit " << code;
    failed += code != 0 ? 1 : 0;
    expect_users_file();
    expect_next_run_works();
  }
  EXPECT_GT(failed, operations / 2);
}

TEST_P(Replacing, AKillAtAnyOperation) {
  const int operations = count_operations();
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up();
    const std::string folder = run();
    EXPECT_EQ(run_with({folder.c_str(), at, 0, SIGKILL, nullptr}), -SIGKILL);
    const auto left = contents_of(run());
    mend_interrupted(run());
    EXPECT_TRUE(!left.contains("report.json") || contents_of(run()) == left) << "needs nothing";
    expect_readable();
    expect_failing_run();
    auto found = result_in(run());
    const bool has_report = found.contains("report.json");
    const bool says_complete =
        contents_of(run())["events.jsonl"].find("complete") != std::string::npos;
    EXPECT_TRUE(!says_complete || is_new(found));
    if (has_report || GetParam() == Before::result) {
      EXPECT_TRUE(is_old(found) || is_new(found));
    } else {  // of a killed run that replaced nothing
      found.erase("events.jsonl");
      EXPECT_TRUE(found.empty());
    }
    expect_users_file();
    expect_next_run_works();
  }
}

// Of a run that replaces a result, between taking that away and putting its own there.
TEST_P(ReplacingAResult, AKillOfWhatMendsAKill) {
  const int operations = count_operations();
  const std::string folder = run();
  const auto mend = [&] { mend_interrupted(run()); };
  int killed = 0;
  for (int at = 1; at <= operations; ++at) {
    set_up();
    run_with({folder.c_str(), at, 0, SIGKILL, nullptr});
    if (fs::exists(run() / "report.json")) continue;
    fs::rename(root_ / "out", root_ / "left");
    bool is_mended = false;
    for (int then = 1; !is_mended; ++then) {
      SCOPED_TRACE(testing::Message() << "operation " << at << ", then " << then);
      fs::remove_all(root_ / "out");
      fs::copy(root_ / "left", root_ / "out", fs::copy_options::recursive);
      is_mended = in_child({folder.c_str(), then, 0, SIGKILL, nullptr}, mend) == 0;
      killed += is_mended ? 0 : 1;
      mend();
      EXPECT_TRUE(is_old(result_in(run())));
    }
    fs::remove_all(root_ / "left");
  }
  EXPECT_GT(killed, operations);
}
INSTANTIATE_TEST_SUITE_P(Over, ReplacingAResult, testing::Values(Before::result));

TEST_P(Replacing, ASignalAtAnyOperation) {
  const int operations = count_operations();
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up();
    const auto before = contents_of(run());
    const std::string folder = run();
    EXPECT_EQ(run_with({folder.c_str(), at, 0, SIGTERM, nullptr}), -SIGTERM);
    auto found = contents_of(run());
    const bool keeps_note = found.erase("notes.txt") == before.count("notes.txt");
    EXPECT_TRUE(keeps_note && (contents_of(run()) == before || is_new(found)))
        << "and nothing else is left";
    EXPECT_TRUE(fs::exists(run()) || !fs::exists(root_ / "out")) << "no empty folder is left";
  }
}

// The second one comes, and stays, while the first is at its n-th operation.
fs::path contested;
pid_t rival = -1;
bool has_rival_the_folder = false;

void start_rival() {
  int answers[2];
  ASSERT_EQ(::pipe(answers), 0);
  rival = ::fork();
  if (rival == 0) {
    fault_points_follow(nullptr);
    char answer = 'n';
    try {
      OutputFolder folder(contested, true);
      folder.create();
      answer = 'y';
      if (::write(answers[1], &answer, 1) == 1) ::pause();
    } catch (const Error&) {
      if (::write(answers[1], &answer, 1) != 1) ::_exit(1);
    }
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(answers[0], &answer, 1), 1);
  has_rival_the_folder = answer == 'y';
  ::close(answers[0]);
  ::close(answers[1]);
}

// On a file system without locks nobody can know whether the run in a folder is still at work.
class WithoutLocks : public Replacing {
 protected:
  // As a run leaves it, or has it, that is at its n-th operation.
  bool leave_at(int operation) const {
    set_up();
    const std::string folder = run();
    return run_with({folder.c_str(), operation, 0, SIGKILL, nullptr}) == -SIGKILL;
  }
  // With the names in the folders that are in the folder.
  Contents all() const {
    auto found = contents_of(run());
    for (const char* aside : {".tally-replacing", ".tally-replaced"}) {
      for (const auto& [name, text] : contents_of(run() / aside)) {
        found[std::string(aside) + "/" + name] = text;
      }
    }
    found.erase(".tally-lock");
    return found;
  }
  int without_locks(int error, const std::function<void()>& work) const {
    const std::string folder = run();
    return in_child({folder.c_str(), 0, 0, 0, nullptr}, [&] {
      fault_points_fail_locks(error);
      work();
    });
  }
};

TEST_P(WithoutLocks, WhatARunMayBeWritingIsLeftAsItIs) {
  const int operations = count_operations();
  int refused = 0;
  int mended = 0;
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    ASSERT_TRUE(leave_at(at));
    const auto before = all();
    const bool has_begun =
        before.contains(".tally-replacing") || before.contains(".tally-replaced");
    const int error = at % 2 == 0 ? ENOLCK : ENOSYS;
    EXPECT_EQ(without_locks(error, [&] { mend_interrupted(run()); }), 0);
    EXPECT_EQ(all(), before) << "a reader";
    for (const bool overwrite : {false, true}) {
      if (!has_begun) continue;
      const auto start = [&] { OutputFolder(run(), overwrite).create(); };
      EXPECT_EQ(without_locks(error, start), exit_code(ErrorKind::output));
      EXPECT_EQ(all(), before) << "a second run";
      ++refused;
    }
    mend_interrupted(run());
    mended += all() != before ? 1 : 0;
  }
  EXPECT_GT(refused, operations);
  EXPECT_GT(mended, 0) << "where there are locks";
}

TEST_P(WithoutLocks, ARunReplacesAResult) {
  set_up();
  EXPECT_EQ(without_locks(ENOLCK, [&] { publish_new(true); }), 0);
  auto found = contents_of(run());
  EXPECT_EQ(found.erase("notes.txt"), 1u);
  EXPECT_TRUE(is_new(found)) << "and nothing else is left";
}

// Where nothing else keeps two runs that start at one moment apart, the folder kept aside does.
TEST_P(WithoutLocks, OfTwoThatStartTogetherOneIsRefused) {
  set_up();
  const auto both = [&] {
    OutputFolder first(run(), true);
    OutputFolder second(run(), true);
    first.create();
    const auto during = all();
    try {
      second.create();
    } catch (const Error&) {
      if (all() == during) throw;
    }
  };
  EXPECT_EQ(without_locks(ENOLCK, both), exit_code(ErrorKind::output));
  EXPECT_TRUE(is_old(result_in(run())));
}
// As a server of locks that is gone for a moment: a third run would make a lock of its own.
TEST_P(WithoutLocks, TheLockOfAnotherRunStays) {
  set_up();
  OutputFolder first(run(), true);
  first.create();
  const auto start = [&] { OutputFolder(run(), true).create(); };
  EXPECT_EQ(without_locks(ENOLCK, start), exit_code(ErrorKind::output));
  EXPECT_TRUE(fs::exists(run() / ".tally-lock"));
}
INSTANTIATE_TEST_SUITE_P(Over, WithoutLocks, testing::Values(Before::result));

// As `tally check` does, which may do so while a run is at work.
TEST_P(ReplacingAResult, ALookAtTheFolderMovesNothing) {
  const int operations = count_operations();
  const std::string folder = run();
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up();
    run_with({folder.c_str(), at, 0, SIGKILL, nullptr});
    const auto before = contents_of(run());
    EXPECT_NO_THROW(OutputFolder(run(), true));
    EXPECT_EQ(contents_of(run()), before);
  }
}

TEST_P(Replacing, OfTwoThatOverwriteOneIsRefused) {
  const int operations = count_operations();
  int lost = 0;
  for (int at = 1; at <= operations; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up();
    contested = run();
    const std::string folder = run();
    const fault_plan plan{folder.c_str(), at, 0, 0, start_rival};
    rival = -1;
    bool has_folder = true;
    {
      OutputFolder local(run(), true);
      fault_points_follow(&plan);
      try {
        local.create();
      } catch (const Error&) {
        has_folder = false;
      }
      fault_points_follow(nullptr);
    }
    if (rival < 0) break;  // all of create() was tried
    EXPECT_NE(has_folder, has_rival_the_folder);
    lost += has_folder ? 0 : 1;
    ::kill(rival, SIGKILL);
    ::waitpid(rival, nullptr, 0);
    expect_next_run_works();
  }
  EXPECT_GT(lost, 0);
}

std::string name_of(const testing::TestParamInfo<Before>& info) {
  if (info.param == Before::nothing) return "Nothing";
  return info.param == Before::result ? "AResult" : "AUsersFolder";
}
INSTANTIATE_TEST_SUITE_P(Over, Replacing,
                         testing::Values(Before::nothing, Before::user_folder, Before::result),
                         name_of);

}  // namespace
}  // namespace tally::app
