// SPDX-License-Identifier: Apache-2.0
// Progress on a clock that the test moves.
#include "progress_renderer.hpp"

#include <algorithm>

#include "report_fixture.hpp"

namespace tally::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kNone = std::nullopt;

TEST(ProgressText, SaysHowFarHowFastHowLong) {
  EXPECT_EQ(progress_text(412, 1000, 2.689, 0.912),
            "412/1000 samples, 41 %, 153.2/s, 0:04 left, accuracy 0.9120");
  EXPECT_EQ(progress_text(1000, 1000, 6.0, 0.5),
            "1000/1000 samples, 100 %, 166.7/s, in 0:06, accuracy 0.5000");
  EXPECT_EQ(progress_text(0, 1000, 0, kNone), "0/1000 samples, 0 %");
  EXPECT_EQ(progress_text(0, 1000, 5, kNone), "0/1000 samples, 0 %");
  EXPECT_EQ(progress_text(0, 0, 0, kNone), "0/0 samples, 100 %");
  EXPECT_EQ(progress_text(999, 1000, 1.0, kNone), "999/1000 samples, 99 %, 999.0/s, 0:01 left");
  EXPECT_EQ(progress_text(100000, 50000000, 10, kNone),
            "100000/50000000 samples, 0 %, 10,000/s, 1:23:10 left");
}

TEST(BarLine, AlwaysCoversSeventyNineColumns) {
  for (std::size_t length = 0; length < 120; ++length) {
    EXPECT_EQ(bar_line(1, 3, std::string(length, 'x')).size(), 79u);
  }
}

TEST(BarLine, FillsWithTheShare) {
  for (std::int64_t done = 0; done <= 30; ++done) {
    const auto line = bar_line(done, 30, "text");
    EXPECT_EQ(std::ranges::count(line, '#'), done);
    EXPECT_EQ(std::ranges::count(line, '-'), 30 - done);
    EXPECT_THAT(line, HasSubstr("] text "));
  }
}

TEST(PainterBar, RedrawsAtMostTenTimesASecond) {
  ProgressRenderer painter(ProgressStyle::bar, 100000);
  int num_drawn = 0;
  for (int step = 1; step <= 5000; ++step) {  // 5 s in steps of 1 ms
    const auto text = painter.update(step / 1000.0, step, kNone);
    if (text.empty()) continue;
    ++num_drawn;
    EXPECT_THAT(text, StartsWith("\r["));
    EXPECT_EQ(text.size(), 80u);
  }
  EXPECT_GE(num_drawn, 45);
  EXPECT_LE(num_drawn, 50);
}

TEST(PainterBar, FinishDrawsTheLastStateAndClosesTheLineOnce) {
  ProgressRenderer painter(ProgressStyle::bar, 10);
  EXPECT_THAT(painter.update(0.5, 5, kNone), HasSubstr("5/10"));
  EXPECT_EQ(painter.update(0.51, 10, 0.9), "");
  const auto last = painter.finish(1.0);
  EXPECT_THAT(last, HasSubstr("10/10 samples, 100 %, 10.0/s, in 0:01, accuracy 0.9000"));
  EXPECT_EQ(last.back(), '\n');
  EXPECT_EQ(painter.finish(2.0), "");
  EXPECT_EQ(painter.abandon(), "");
  EXPECT_EQ(painter.update(9.0, 10, kNone), "");
}

TEST(PainterBar, AFailureEndsTheOpenLine) {
  ProgressRenderer painter(ProgressStyle::bar, 10);
  EXPECT_EQ(painter.abandon(), "");
  ProgressRenderer drawn(ProgressStyle::bar, 10);
  drawn.update(0.0, 1, kNone);
  EXPECT_EQ(drawn.abandon(), "\n");
  EXPECT_EQ(drawn.abandon(), "");
}

TEST(PainterLog, ALineEveryTenSecondsAndOneAtTheEnd) {
  ProgressRenderer painter(ProgressStyle::log, 1000);
  std::vector<std::string> lines;
  for (int second = 1; second <= 35; ++second) {
    const auto text = painter.update(second, second * 20, kNone);
    if (!text.empty()) lines.push_back(text);
  }
  lines.push_back(painter.finish(36));
  EXPECT_THAT(lines, ::testing::ElementsAre("tally: 200/1000 samples, 20 %, 20.0/s, 0:40 left\n",
                                            "tally: 400/1000 samples, 40 %, 20.0/s, 0:30 left\n",
                                            "tally: 600/1000 samples, 60 %, 20.0/s, 0:20 left\n",
                                            "tally: 700/1000 samples, 70 %, 19.4/s, 0:16 left\n"));
  EXPECT_EQ(painter.finish(50), "");
}

TEST(PainterOff, IsSilent) {
  ProgressRenderer painter(ProgressStyle::off, 10);
  EXPECT_EQ(painter.update(100, 5, kNone) + painter.finish(200) + painter.abandon(), "");
}

TEST(ProgressRenderer, WithoutSamplesThereIsNothingToSay) {
  for (const auto style : {ProgressStyle::bar, ProgressStyle::log}) {
    EXPECT_EQ(ProgressRenderer(style, 10).finish(1.0), "");
  }
}

TEST(ProgressStyleName, KnowsItsWords) {
  EXPECT_EQ(progress_style_from_name("bar"), ProgressStyle::bar);
  EXPECT_EQ(progress_style_from_name("log"), ProgressStyle::log);
  EXPECT_EQ(progress_style_from_name("off"), ProgressStyle::off);
  EXPECT_NE(progress_style_from_name("auto"), ProgressStyle::off);
  EXPECT_THROW(progress_style_from_name("Bar"), Error);
}

}  // namespace
}  // namespace tally::report
