// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/answer_spans.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A window and the logits it looks at.
struct Case {
  AnswerWindow window;
  std::vector<float> start, end;

  AnswerCandidates candidates(const AnswerLimits& limits) const {
    AnswerWindow with_logits = window;
    with_logits.start = start;
    with_logits.end = end;
    return candidates_of(with_logits, limits);
  }
};

AnswerWindow context(std::int64_t begin, std::int64_t end) {
  AnswerWindow window;
  window.context_begin = begin;
  window.context_end = end;
  return window;
}

// Whole numbers, so that many spans tie; now and then "never".
Case random_case(std::mt19937& random) {
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  const auto logit = [&] { return below(12) == 0 ? -kInf : static_cast<float>(below(9) - 4); };
  Case made;
  const std::int64_t tokens = 1 + below(20);
  for (std::int64_t i = 0; i < tokens; ++i) {
    made.start.push_back(logit());
    made.end.push_back(logit());
  }
  made.window.unit = below(1000);
  made.window.context_begin = below(tokens + 1);
  made.window.context_end =
      made.window.context_begin + below(tokens - made.window.context_begin + 1);
  made.window.token_begin = below(50);
  return made;
}

// All spans that may be answers, the best first.
std::vector<AnswerSpan> all_spans(const Case& given, std::int64_t max_tokens) {
  std::vector<AnswerSpan> spans;
  const AnswerWindow& window = given.window;
  for (std::int64_t first = 0; first < std::ssize(given.start); ++first) {
    for (std::int64_t last = 0; last < std::ssize(given.start); ++last) {
      const bool is_answer = first >= window.context_begin && last < window.context_end &&
                             first <= last && last - first + 1 <= max_tokens;
      const float start = given.start[to_size(first)], end = given.end[to_size(last)];
      if (!is_answer || start == -kInf || end == -kInf) continue;
      const std::int64_t shift = window.token_begin - window.context_begin;
      spans.push_back({static_cast<std::int32_t>(first + shift),
                       static_cast<std::int32_t>(last + shift), start, end});
    }
  }
  std::ranges::sort(spans, {}, [](const AnswerSpan& span) {
    return std::tuple(-(double{span.start_logit} + span.end_logit), span.first_token,
                      span.last_token);
  });
  return spans;
}

TEST(AnswerSpans, AreThoseOfASearchOverAllSpans) {
  std::mt19937 random(5);
  std::size_t most = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Case given = random_case(random);
    for (const std::int64_t max_tokens : {1, 2, 5, 100}) {
      const auto expected = all_spans(given, max_tokens);
      most = std::max(most, expected.size());
      for (const std::int64_t num_best : {1, 3, 20, 500}) {
        const auto found = given.candidates({.max_tokens = max_tokens, .num_best = num_best});
        const auto retained = std::min(to_size(num_best), expected.size());
        ASSERT_TRUE(found.finite);
        ASSERT_TRUE(std::ranges::equal(found.best, std::span(expected).first(retained)))
            << "trial " << trial << ", " << max_tokens << " tokens, " << num_best << " best";
        ASSERT_EQ(found.unit, given.window.unit);
        ASSERT_EQ(found.no_answer_start, given.start.front());
        ASSERT_EQ(found.no_answer_end, given.end.front());
      }
    }
  }
  EXPECT_GT(most, 50U);
}

// Sums of floats that only doubles tell apart.
TEST(AnswerSpans, AreComparedWithoutRounding) {
  const Case given{context(0, 2), {0x1p24F, 0x1p24F}, {0.5F, 1.0F}};
  const auto best = given.candidates({}).best;
  ASSERT_EQ(best.size(), 3U);
  EXPECT_EQ(best[0].last_token, 1);
  EXPECT_EQ(best[2].last_token, 0);
}

TEST(AnswerSpans, OfAWindowWithoutContextAreNone) {
  const Case given{context(2, 2), {1, 2, 3}, {4, 5, 6}};
  const auto found = given.candidates({});
  EXPECT_TRUE(found.finite);
  EXPECT_THAT(found.best, IsEmpty());
  EXPECT_EQ(found.no_answer_score(), 5.0);
}

// What stands outside the context, but for the first token, does not count: nor does NaN there.
TEST(AnswerSpans, NeedLogitsThatCount) {
  const auto with = [](std::size_t place, float start, float end) {
    Case given{context(2, 4), std::vector<float>(6), {}};
    given.end = given.start;
    given.start[place] = start;
    given.end[place] = end;
    return given.candidates({});
  };
  for (const std::size_t place : {0U, 1U, 2U, 3U, 4U, 5U}) {
    const bool counts = place == 0 || place == 2 || place == 3;
    for (const float bad : {kNan, -kNan, kInf}) {
      for (const auto& found : {with(place, bad, 0), with(place, 0, bad)}) {
        EXPECT_EQ(found.finite, !counts) << place;
        EXPECT_EQ(found.best.empty(), counts) << place;
      }
    }
    EXPECT_TRUE(with(place, -kInf, -kInf).finite);
  }
  EXPECT_EQ(with(2, -kInf, 0).best.size(), 1U);
  EXPECT_THAT(with(0, -kInf, 0).no_answer_score(), -kInf);
}

TEST(AnswerSpans, AreMergedWithTheBetterOfDoubles) {
  const AnswerLimits limits{.max_tokens = 30, .num_best = 3};
  AnswerCandidates found{1, 2, 3, true, {{5, 6, 4, 4}, {1, 1, 3, 3}, {2, 2, 1, 1}}};
  merge({1, 0, 4, true, {{1, 1, 5, 5}, {5, 6, 1, 1}, {0, 3, 0, 0}}}, limits, found);
  EXPECT_THAT(found.best,
              ElementsAre(AnswerSpan{1, 1, 5, 5}, AnswerSpan{5, 6, 4, 4}, AnswerSpan{2, 2, 1, 1}));
  EXPECT_EQ(found.no_answer_start, 0) << "the least sum";
  EXPECT_EQ(found.no_answer_end, 4);
  merge({1, 4, 0, true, {}}, limits, found);
  EXPECT_EQ(found.no_answer_start, 0) << "the first of equal ones";
  merge({1, 9, 9, true, {{1, 1, 6, 4}}}, limits, found);
  EXPECT_EQ(found.best.front(), (AnswerSpan{1, 1, 5, 5})) << "the first of equal ones";
}

// Windows of one paragraph that overlap: the same span has several scores.
std::vector<AnswerCandidates> random_windows(std::mt19937& random, const AnswerLimits& limits) {
  std::vector<AnswerCandidates> windows;
  const auto count = std::uniform_int_distribution<int>(1, 7)(random);
  for (int i = 0; i < count; ++i) {
    Case given = random_case(random);
    given.window.unit = 9;
    given.window.token_begin %= 6;
    if (random() % 12 == 0) given.start.front() = kNan;
    windows.push_back(given.candidates(limits));
  }
  return windows;
}

AnswerCandidates merged(std::span<const AnswerCandidates> windows, const AnswerLimits& limits) {
  AnswerCandidates all = windows.front();
  for (const auto& window : windows.subspan(1)) merge(window, limits, all);
  return all;
}

std::vector<std::byte> bytes_of(const AnswerCandidates& candidates, const AnswerLimits& limits) {
  std::vector<std::byte> record;
  append_record(0, candidates, limits, record);
  return record;
}

// As ranks have them: runs of windows that follow one another.
TEST(AnswerSpans, MergedInAnyRunsAreTheSameBits) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 2000; ++trial) {
    const AnswerLimits limits{.max_tokens = 4, .num_best = 1 + trial % 9};
    const auto windows = random_windows(random, limits);
    const auto whole = bytes_of(merged(windows, limits), limits);
    std::vector<AnswerCandidates> runs;
    for (std::size_t first = 0; first < windows.size();) {
      const std::size_t count = 1 + random() % (windows.size() - first);
      runs.push_back(merged(std::span(windows).subspan(first, count), limits));
      first += count;
    }
    ASSERT_EQ(bytes_of(merged(runs, limits), limits), whole) << "trial " << trial;
  }
}

TEST(AnswerSpans, MergedAreTheBestOfAllWindows) {
  std::mt19937 random(7);
  const AnswerLimits all{.max_tokens = 4, .num_best = 10000}, few{.max_tokens = 4, .num_best = 5};
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<AnswerCandidates> windows, cut;
    for (auto& window : random_windows(random, all)) {
      cut.push_back(window);
      if (cut.back().best.size() > 5) cut.back().best.resize(5);
      windows.push_back(std::move(window));
    }
    const auto whole = merged(windows, all);
    const auto best = merged(cut, few).best;
    const auto retained = std::min<std::size_t>(5, whole.best.size());
    ASSERT_TRUE(std::ranges::equal(best, std::span(whole.best).first(retained)))
        << "trial " << trial;
  }
}

TEST(AnswerSpans, OfAQuestionWithAWindowThatIsNotFiniteAreNone) {
  const AnswerCandidates good{1, 2, 3, true, {{5, 6, 4, 4}}};
  const Case bad{context(1, 2), {0, kNan}, {0, 0}};
  for (const bool is_first : {true, false}) {
    AnswerCandidates found = is_first ? bad.candidates({}) : good;
    merge(is_first ? good : bad.candidates({}), {}, found);
    EXPECT_FALSE(found.finite);
    EXPECT_THAT(found.best, IsEmpty());
  }
}

TEST(AnswerSpans, AreReadBackFromRecords) {
  std::mt19937 random(8);
  const AnswerLimits limits{.max_tokens = 4, .num_best = 6};
  std::vector<AnswerCandidates> written;
  std::vector<std::byte> column;
  for (std::int64_t i = 0; i < 50; ++i) {
    written.push_back(merged(random_windows(random, limits), limits));
    append_record(1000 - i, written.back(), limits, column);
  }
  EXPECT_EQ(std::ssize(column), 50 * candidates_column(limits).row_bytes());
  const auto records = records_in(column, limits);
  ASSERT_EQ(records.size(), written.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const AnswerCandidates& found = records[i].candidates;
    EXPECT_EQ(records[i].index, 1000 - static_cast<std::int64_t>(i));
    EXPECT_EQ(found.unit, written[i].unit);
    EXPECT_EQ(found.finite, written[i].finite);
    EXPECT_EQ(found.best, written[i].best);
    EXPECT_EQ(bytes_of(found, limits), bytes_of(written[i], limits));
  }
  EXPECT_THAT(records_in({}, limits), IsEmpty());
}

}  // namespace
}  // namespace tally::tasks
