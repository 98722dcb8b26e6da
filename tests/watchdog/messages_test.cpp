// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tally::watchdog {
namespace {

TEST(Messages, ComeBackAsTheyWere) {
  NodeReport sent;
  sent.summary.all_wait = true;
  sent.summary.progress = 1ULL << 60;
  sent.summary.longest_step_s = 0.25;
  sent.summary.fewest_waits = 7;
  sent.summary.rank_behind = 3;
  sent.summary.paces = {{3, 640, 1.5}, {4, 0, 0.5}};
  sent.phase = "evaluate";
  sent.object = "data set '\xff.h5'";  // no UTF-8
  sent.failure_code = 8;
  const auto line = to_line(sent);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto got = node_report_from(line);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->summary.all_wait);
  EXPECT_EQ(got->summary.progress, 1ULL << 60);
  EXPECT_EQ(got->summary.longest_step_s, 0.25);
  EXPECT_EQ(got->summary.fewest_waits, 7U);
  EXPECT_EQ(got->summary.rank_behind, 3);
  ASSERT_EQ(got->summary.paces.size(), 2U);
  EXPECT_EQ(got->summary.paces[0].samples, 640);
  EXPECT_EQ(got->summary.paces[1].loop_s, 0.5);
  EXPECT_EQ(got->phase, "evaluate");
  EXPECT_EQ(got->object, "data set '\xef\xbf\xbd.h5'");
  EXPECT_EQ(got->failure_code, 8);
  EXPECT_FALSE(got->has_left);
}

TEST(Messages, OthersAreNone) {
  for (const char* line : {"", "{", "[]", "null", "GET / HTTP/1.1", "{\"token\": 3}",
                           "{\"token\": \"a\", \"node\": \"1\", \"host\": \"h\"}"}) {
    EXPECT_FALSE(hello_from(line)) << line;
    EXPECT_FALSE(node_report_from(line)) << line;
    EXPECT_FALSE(job_report_from(line)) << line;
  }
  // The system would cut such a code to 0.
  EXPECT_FALSE(job_report_from(to_line(JobReport{0, 256, false})));
  NodeReport wrong;
  wrong.failure_code = -1;
  EXPECT_FALSE(node_report_from(to_line(wrong)));
  const auto hello = hello_from(to_line(Hello{"secret", 2, "node2"}));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->token, "secret");
  EXPECT_EQ(hello->node, 2);
  EXPECT_EQ(hello->host, "node2");
  const auto job = job_report_from(to_line(JobReport{1.5, 8, true}));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->longest_step_s, 1.5);
  EXPECT_EQ(job->failure_code, 8);
  EXPECT_TRUE(job->has_left);
}

}  // namespace
}  // namespace tally::watchdog
