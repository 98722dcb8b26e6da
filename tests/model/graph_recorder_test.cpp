// Recordings through the table of calls: what is begun is ended and destroyed, whatever fails.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <tally/base/error.hpp>

#include "graph_recorder.hpp"

namespace tally::model {
namespace {

struct Calls {
  std::string made;
  const char* begin = nullptr;
  const char* end = nullptr;
  const char* replay = nullptr;
};
Calls calls;

constexpr GraphCalls kPlayed{
    [](void** graph) {
      calls.made += "begin ";
      if (calls.begin == nullptr) *graph = &calls;
      return calls.begin;
    },
    [](void* graph) {
      calls.made += graph == &calls ? "end " : "end of another ";
      return calls.end;
    },
    [](void* graph) {
      calls.made += graph == &calls ? "replay " : "replay of another ";
      return calls.replay;
    },
    [](void* graph) { calls.made += graph == &calls ? "destroy " : "destroy another "; },
};

class GraphRecorderTest : public testing::Test {
 protected:
  void SetUp() override { calls = {}; }
  std::unique_ptr<Recorder> recorder_ = make_graph_recorder(kPlayed, device::Device{});
};

void enqueue() { calls.made += "enqueue "; }

std::string what_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    return error.what();
  }
  return "";
}

TEST_F(GraphRecorderTest, RecordsAndReplays) {
  auto recording = recorder_->record(enqueue);
  recording->replay();
  recording->replay();
  recording.reset();
  EXPECT_EQ(calls.made, "begin enqueue end replay replay destroy ");
}

TEST_F(GraphRecorderTest, NothingIsLeftOfWhatDidNotBegin) {
  calls.begin = "not on the default stream";
  EXPECT_NE(what_of([&] { recorder_->record(enqueue); }).find(calls.begin), std::string::npos);
  EXPECT_EQ(calls.made, "begin ");
}

TEST_F(GraphRecorderTest, WorkThatFailsEndsTheRecording) {
  EXPECT_THROW(recorder_->record([] { throw std::out_of_range("work"); }), std::out_of_range);
  EXPECT_EQ(calls.made, "begin end destroy ");
}

TEST_F(GraphRecorderTest, FailuresAreToldInOneLine) {
  calls.end = "operation failed due to a previous error\nException raised from capture_end";
  EXPECT_EQ(what_of([&] { recorder_->record(enqueue); }).find("Exception raised"),
            std::string::npos);
  EXPECT_EQ(calls.made, "begin enqueue end destroy ");
  calls = {};
  const auto recording = recorder_->record(enqueue);
  calls.replay = "out of memory";
  EXPECT_NE(what_of([&] { recording->replay(); }).find("out of memory"), std::string::npos);
}

TEST(GraphLibraryTest, IsNamedWhereItIsMissing) {
  const auto what = what_of([] { load_graph_calls("libnot_there.so"); });
  EXPECT_NE(what.find("libnot_there.so cannot be loaded ("), std::string::npos);
  EXPECT_NE(what.find("--cuda-graphs off"), std::string::npos);
}

}  // namespace
}  // namespace tally::model
