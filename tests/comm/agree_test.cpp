// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/agree.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <new>
#include <string>

#include <tally/base/current_work.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using testing::HasSubstr;

// What one rank saw of a step: the kind it left with, if it did, and its stderr.
struct Outcome {
  std::optional<ErrorKind> kind;
  std::string said, suppressed_message;
};

template <class Step>
Outcome outcome_of(const Step& step) {
  Outcome outcome;
  testing::internal::CaptureStderr();
  try {
    step();
  } catch (const AgreedFailure& failure) {
    outcome.kind = failure.kind;
    outcome.suppressed_message = failure.suppressed_message;
  }
  outcome.said = testing::internal::GetCapturedStderr();
  return outcome;
}

class AgreeTest : public CommTest {
 protected:
  // Every rank left with `kind`, and only `speaker` said something, in one line.
  void expect_agreed(const Outcome& outcome, ErrorKind kind, std::int64_t speaker) {
    EXPECT_EQ(outcome.kind, kind) << "rank " << rank();
    EXPECT_EQ(std::ranges::count(outcome.said, '\n'), rank() == speaker ? 1 : 0) << outcome.said;
    EXPECT_EQ(outcome.said.empty(), rank() != speaker) << outcome.said;
  }
};

TEST_F(AgreeTest, PassesWhenNobodyFailed) {
  const auto outcome = outcome_of([&] { agree(world(), std::nullopt); });
  EXPECT_EQ(outcome.kind, std::nullopt);
  EXPECT_EQ(outcome.said, "");
}

TEST_F(AgreeTest, EachRankInTurnMayFail) {
  for (std::int64_t failing = 0; failing < size(); ++failing) {
    std::optional<Error> local;
    if (rank() == failing) local.emplace(ErrorKind::numeric, "a logit is NaN", "Look at it.");

    const auto outcome = outcome_of([&] { agree(world(), local); });

    expect_agreed(outcome, ErrorKind::numeric, failing);
    if (rank() == failing) {
      const auto who = size() > 1 ? format(" rank {} on {}", rank(), host_name()) : "";
      EXPECT_EQ(outcome.said, format("tally: error[7]{}: a logit is NaN. Look at it.\n", who));
    }
  }
}

TEST_F(AgreeTest, TheLowestOfSeveralFailingRanksSpeaksAndDecides) {
  // Ranks from the middle on fail, each pair with another kind.
  const std::int64_t first_failing = size() / 2;
  const auto kind_of = [](std::int64_t r) {
    return r % 2 == 0 ? ErrorKind::dataset : ErrorKind::internal;
  };
  std::optional<Error> local;
  if (rank() >= first_failing) local.emplace(kind_of(rank()), format("rank {} is ill", rank()));

  const auto outcome = outcome_of([&] { agree(world(), local); });

  expect_agreed(outcome, kind_of(first_failing), first_failing);
  if (rank() == first_failing) {
    EXPECT_THAT(outcome.said, HasSubstr(format("rank {} is ill", first_failing)));
  }
}

TEST_F(AgreeTest, AgreeOnRunsTheStepAndCatchesWhateverItThrows) {
  int num_runs = 0;
  agree_on(world(), [&] { ++num_runs; });
  EXPECT_EQ(num_runs, 1);

  const std::int64_t last = size() - 1;
  const auto throwing = [&](auto exception) {
    return outcome_of([&] {
      agree_on(world(), [&] {
        if (rank() == last) throw exception;
      });
    });
  };
  expect_agreed(throwing(Error(ErrorKind::model, "no model")), ErrorKind::model, last);
  expect_agreed(throwing(std::bad_alloc()), ErrorKind::environment, last);
  expect_agreed(throwing(std::runtime_error("two\nlines")), ErrorKind::internal, last);
  expect_agreed(throwing(42), ErrorKind::internal, last);
}

TEST_F(AgreeTest, SuppressedFailuresReachEveryRankInstead) {
  for (std::int64_t failing = 0; failing < size(); ++failing) {
    std::optional<Error> local;
    if (rank() == failing) local.emplace(ErrorKind::model, format("rank {} is\nill", rank()));
    const auto outcome = outcome_of([&] {
      const SuppressedFailures suppressed(ErrorKind::model);
      agree(world(), local);
    });
    EXPECT_EQ(outcome.kind, ErrorKind::model);
    EXPECT_EQ(outcome.said, "");
    EXPECT_EQ(outcome.suppressed_message, format("rank {} is ill", failing));
  }
}

TEST_F(AgreeTest, OthersThanTheUntoldKindAreTold) {
  std::optional<Error> local;
  if (rank() == 0) local.emplace(ErrorKind::output, "no room");
  const auto other = outcome_of([&] {
    const SuppressedFailures suppressed(ErrorKind::model);
    agree(world(), local);
  });
  expect_agreed(other, ErrorKind::output, 0);
  expect_agreed(outcome_of([&] { agree(world(), local); }), ErrorKind::output, 0);
  EXPECT_EQ(other.suppressed_message, "");
}

// A recorder is a plain function, so what it got lies here.
struct Recorded {
  std::string host, phase, cause, next_step;
  int code = 0, rank = -1, times = 0;
} g_recorded;

TEST_F(AgreeTest, RankZeroRecordsForTheRankThatFailed) {
  record_failures([](const FailureRecord& failure) noexcept {
    g_recorded = {std::string(failure.host),
                  std::string(failure.phase),
                  std::string(failure.cause),
                  std::string(failure.next_step),
                  failure.code,
                  failure.rank,
                  g_recorded.times + 1};
  });
  begin_phase("open_data");
  for (int failing = 0; failing < size(); ++failing) {
    g_recorded = {};
    std::optional<Error> local;
    if (rank() == failing) local.emplace(ErrorKind::dataset, "two\nlines. Really", "Look.");
    outcome_of([&] { agree(world(), local); });
    EXPECT_EQ(g_recorded.times, rank() == 0 ? 1 : 0);
    if (rank() != 0) continue;
    EXPECT_EQ(g_recorded.code, 3);
    EXPECT_EQ(g_recorded.rank, failing);
    EXPECT_EQ(g_recorded.host, host_name());
    EXPECT_EQ(g_recorded.phase, "open_data");
    EXPECT_EQ(g_recorded.cause, "two lines. Really");
    EXPECT_EQ(g_recorded.next_step, "Look.");
  }
  g_recorded = {};
  outcome_of([&] {
    const SuppressedFailures suppressed(ErrorKind::model);
    agree(world(), Error(ErrorKind::model, "goes on"));
  });
  EXPECT_EQ(g_recorded.times, 0) << "that is no failure of the run";
  begin_phase("");
  record_failures(nullptr);
}

TEST_F(AgreeTest, TheJobGoesOnAfterAnAgreedFailure) {
  std::optional<Error> local;
  if (rank() == 0) local.emplace(ErrorKind::output, "once");
  outcome_of([&] { agree(world(), local); });
  EXPECT_EQ(world().max(rank()), size() - 1);
}

TEST_F(AgreeTest, SameTextsPass) {
  const auto outcome = outcome_of([&] {
    agree_same(world(), ErrorKind::usage, "the command line", "--batch-size 64");
    agree_same(world(), ErrorKind::usage, "nothing", "");
  });
  EXPECT_EQ(outcome.kind, std::nullopt);
}

TEST_F(AgreeTest, DifferentTextsNameRankZeroAndTheFirstOtherRank) {
  const std::int64_t other = size() / 2;
  const bool differs = size() > 1 && rank() >= other;

  const auto outcome = outcome_of([&] {
    agree_same(world(), ErrorKind::dataset, "the data set's identity", differs ? "abd" : "abc");
  });

  if (size() == 1) {
    EXPECT_EQ(outcome.kind, std::nullopt);
    return;
  }
  expect_agreed(outcome, ErrorKind::dataset, other);
  if (rank() == other) {
    EXPECT_THAT(outcome.said,
                HasSubstr(format("the data set's identity differs between ranks: 'abc' on rank 0 "
                                 "({}), 'abd' on rank {} ({})",
                                 host_name(), other, host_name())));
  }
}

TEST_F(AgreeTest, LongTextsAreShownWhereTheyDiffer) {
  std::string text(5000, 'a');
  if (rank() == size() - 1) text.replace(3000, 6, "needle");

  const auto outcome =
      outcome_of([&] { agree_same(world(), ErrorKind::usage, "the config", text); });

  if (size() == 1) return;
  expect_agreed(outcome, ErrorKind::usage, size() - 1);
  if (rank() == size() - 1) {
    EXPECT_THAT(outcome.said, HasSubstr("needle"));
    EXPECT_LT(outcome.said.size(), 500u);
  }
}

TEST_F(AgreeTest, OneTextMayBeTheBeginningOfTheOther) {
  const std::string text(200, 'a');
  const auto outcome = outcome_of([&] {
    agree_same(world(), ErrorKind::usage, "the config",
               rank() == size() - 1 ? text.substr(0, 150) : text);
  });
  if (size() > 1) expect_agreed(outcome, ErrorKind::usage, size() - 1);
}

}  // namespace
}  // namespace tally::comm
