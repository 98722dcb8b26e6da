// SPDX-License-Identifier: Apache-2.0
// A resumed run that is killed at any of its file operations can be resumed again, or is complete.
#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "replacing_fixture.hpp"

namespace tally::app {
namespace {

const Contents kProgress{{"attempt-1.rank-0.a.state", "some counts"},
                         {"attempt-1.rank-0.records", "some records"}};

class Resuming : public Replacing {
 protected:
  // As a run of two attempts leaves it.
  void set_up_progress() const {
    set_up();
    fs::create_directory(progress());
    for (const auto& [name, text] : kProgress) put(progress() / name, text);
    if (GetParam() != Before::result) put(run() / "events.jsonl", kEvent);
  }
  fs::path progress() const { return run() / "progress"; }
  FolderUse use() const { return {GetParam() == Before::result, true}; }
  int resume_with(const fault_plan& plan) const {
    return in_child(plan, [this] { publish_new(use()); });
  }
  bool is_complete() const {
    auto found = result_in(run());
    found.erase("progress");
    return is_new(found);
  }
};

TEST_P(Resuming, AKillAtAnyOperation) {
  const std::string folder = run();
  int killed = 0;
  int complete = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up_progress();
    const int code = resume_with({folder.c_str(), at, 0, SIGKILL, nullptr});
    if (code == 0) break;
    ASSERT_EQ(code, -SIGKILL);
    ++killed;
    if (is_complete()) {
      ++complete;
      remove_remains(run());
    } else {
      EXPECT_EQ(contents_of(progress()), kProgress);
      EXPECT_NO_THROW(OutputFolder(run(), {false, true})) << "the first look at the folder";
      publish_new(use());
    }
    auto left = contents_of(run());
    left.erase("notes.txt");
    left.erase(".tally-lock");  // one that a killed run left is no obstacle
    EXPECT_TRUE(is_new(left)) << "nothing else is left";
    expect_users_file();
  }
  EXPECT_GT(complete, 3);
  EXPECT_GT(killed - complete, 30);
}

// Nor does one that fails say in its events that it is complete.
TEST_P(Resuming, AnErrorAtAnyOperationLeavesWhatCanBeResumed) {
  const std::string folder = run();
  int failed = 0;
  for (int at = 1, code = 1; code != 0 || at < 60; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    set_up_progress();
    if (GetParam() != Before::result) put(run() / "events.jsonl", std::string(kEvent) + "\n");
    const auto events = contents_of(run())["events.jsonl"];
    code = resume_with({folder.c_str(), at, EDQUOT, 0, nullptr});
    if (code == 0) continue;
    EXPECT_EQ(code, exit_code(ErrorKind::output));
    EXPECT_EQ(contents_of(progress()), kProgress);
    const auto found = contents_of(run());
    ASSERT_TRUE(found.contains("events.jsonl"));
    EXPECT_TRUE(found.at("events.jsonl").starts_with(events)) << found.at("events.jsonl");
    EXPECT_EQ(found.at("events.jsonl").find("complete"), std::string::npos);
    ++failed;
  }
  EXPECT_GT(failed, 30);
}

TEST_P(Resuming, ProgressInWhichNoFileIsWholeGoesWithAFailedRun) {
  set_up();
  {
    OutputFolder folder(run(), use());
    folder.create();
    fs::create_directory(progress());
    put(progress() / "attempt-1.rank-0.records", "some records");
    put(progress() / "attempt-1.rank-1.a.state.partial-7", "half of a");
  }
  EXPECT_FALSE(fs::exists(progress()));
  EXPECT_EQ(fs::exists(run() / "events.jsonl"), GetParam() == Before::result);
}

TEST_P(Resuming, NothingIsRemovedOfWhatIsNotComplete) {
  if (GetParam() == Before::result) return;
  set_up_progress();
  const auto before = contents_of(run());
  remove_remains(run());
  EXPECT_EQ(contents_of(run()), before);
  EXPECT_EQ(contents_of(progress()), kProgress);
}
INSTANTIATE_TEST_SUITE_P(Over, Resuming, testing::Values(Before::user_folder, Before::result));

}  // namespace
}  // namespace tally::app
