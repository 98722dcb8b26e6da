// SPDX-License-Identifier: Apache-2.0
// Recordings through the table of calls: what is begun is ended and destroyed, whatever fails.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <tally/base/error.hpp>

#include "cuda_graph/cuda_graph_capture.hpp"

namespace tally::model {
namespace {

struct Calls {
  std::string made;
  const char* begin = nullptr;
  const char* end = nullptr;
  const char* replay = nullptr;
};
Calls calls;

constexpr CudaGraphApi kPlayed{
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

class CudaGraphCaptureTest : public testing::Test {
 protected:
  void SetUp() override { calls = {}; }
  std::unique_ptr<GraphCapture> capture_ = make_cuda_graph_capture(kPlayed, device::Device{});
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

TEST_F(CudaGraphCaptureTest, RecordsAndReplays) {
  auto captured = capture_->record(enqueue);
  captured->replay();
  captured->replay();
  captured.reset();
  EXPECT_EQ(calls.made, "begin enqueue end replay replay destroy ");
}

TEST_F(CudaGraphCaptureTest, NothingIsLeftOfWhatDidNotBegin) {
  calls.begin = "not on the default stream";
  EXPECT_NE(what_of([&] { capture_->record(enqueue); }).find(calls.begin), std::string::npos);
  EXPECT_EQ(calls.made, "begin ");
}

TEST_F(CudaGraphCaptureTest, WorkThatFailsEndsTheRecording) {
  EXPECT_THROW(capture_->record([] { throw std::out_of_range("work"); }), std::out_of_range);
  EXPECT_EQ(calls.made, "begin end destroy ");
}

TEST_F(CudaGraphCaptureTest, FailuresAreToldInOneLine) {
  calls.end = "operation failed due to a previous error\nException raised from capture_end";
  EXPECT_EQ(what_of([&] { capture_->record(enqueue); }).find("Exception raised"),
            std::string::npos);
  EXPECT_EQ(calls.made, "begin enqueue end destroy ");
  calls = {};
  const auto captured = capture_->record(enqueue);
  calls.replay = "out of memory";
  EXPECT_NE(what_of([&] { captured->replay(); }).find("out of memory"), std::string::npos);
}

TEST(GraphLibraryTest, IsNamedWhereItIsMissing) {
  const auto what = what_of([] { load_cuda_graph_api("libnot_there.so"); });
  EXPECT_NE(what.find("libnot_there.so cannot be loaded ("), std::string::npos);
  EXPECT_NE(what.find("--cuda-graphs off"), std::string::npos);
}

}  // namespace
}  // namespace tally::model
