// SPDX-License-Identifier: Apache-2.0
// The watch over NCCL with a fake that does everything wrong, one call at a time.
#include "nccl_reducer.hpp"

#include <gmock/gmock.h>

#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/reducer.hpp>

#include "comm_fixture.hpp"
#include "fake_nccl.hpp"

namespace tally::comm {
namespace {

using testing::HasSubstr;

constexpr NcclSizes kSizes{.piece = 40, .ranks_per_id = 2};
constexpr std::size_t kLength = 100;  // three pieces
// Looks at the clock in one phase, with a limit of 120 s: each rest takes one second.
constexpr int kMaxRests = 3 * 120;

const device::Device kCpu{DeviceKind::cpu, 0, "a CPU"};

class NcclReducerTest : public CommTest {
 protected:
  // How a whole life of a reducer went on this rank.
  struct Outcome {
    std::optional<ErrorKind> kind;
    std::string said;
    std::vector<std::int64_t> sum;
    int num_rests = 0;
  };

  std::vector<std::int64_t> local() {
    std::vector<std::int64_t> values(kLength);
    for (std::size_t i = 0; i < kLength; ++i) {
      values[i] = static_cast<std::int64_t>(i * i) * (rank() + 1) - 500;
    }
    return values;
  }

  // Time passes only between two looks.
  NcclPatience patience(int& num_rests) {
    NcclPatience made;
    made.now = [&num_rests] { return std::chrono::seconds(num_rests); };
    made.rest = [&num_rests] { ++num_rests; };
    made.aside = [](const std::function<void()>& work) { work(); };
    return made;
  }

  Outcome live(const Plan& plan) {
    Outcome outcome;
    const auto calls = fake_.calls(plan);
    testing::internal::CaptureStderr();
    try {
      NcclReducer reducer(world(), kCpu, calls, patience(outcome.num_rests), kSizes);
      auto values = local();
      reducer.sum(values);
      outcome.sum = values;
    } catch (const AgreedFailure& failure) {
      outcome.kind = failure.kind;
    }
    outcome.said = testing::internal::GetCapturedStderr();
    return outcome;
  }

  // Nothing of NCCL is left, and nothing was used that was not there.
  void expect_tidy() {
    EXPECT_EQ(fake_.num_live(), 0);
    EXPECT_EQ(fake_.num_unknown(), 0);
    EXPECT_LE(fake_.num_calls("abort") + fake_.num_calls("destroy"), 1);
  }

  void expect_right(const std::vector<std::int64_t>& sum) {
    auto expected = local();
    world().sum_in_place(expected);
    EXPECT_EQ(sum, expected);
  }

  std::int64_t all(std::int64_t value) {
    world().sum_in_place({&value, 1});
    return value;
  }

  void expect_agreed(const Outcome& outcome, const char* text, int code = 5) {
    EXPECT_EQ(outcome.kind, static_cast<ErrorKind>(code));
    EXPECT_EQ(all(std::ranges::count(outcome.said, '\n')), 1);
    if (outcome.said.empty()) return;
    EXPECT_THAT(outcome.said, testing::StartsWith("tally: error[" + std::to_string(code) + "]"));
    EXPECT_THAT(outcome.said, HasSubstr(text));
    EXPECT_THAT(outcome.said, HasSubstr("--reduce mpi"));
  }

  // Lives with the plan; 1 where it came to the planned call on any rank.
  int scene(const Plan& plan) {
    const auto outcome = live(plan);
    expect_tidy();
    EXPECT_LE(outcome.num_rests, kMaxRests);
    const bool has_struck = all(fake_.has_misbehaved() ? 1 : 0) > 0;
    // While the state is not added up yet, nothing may pass.
    const bool is_early = plan.call != "async_error" && plan.call != "finalize";
    EXPECT_TRUE(outcome.kind || !has_struck || !is_early);
    if (outcome.kind) {
      EXPECT_TRUE(has_struck);
      const bool answers_at_once = plan.call.starts_with("get_");
      const bool stalls = plan.misdeed == Misdeed::stalls && !answers_at_once;
      expect_agreed(outcome, "NCCL: ", stalls ? 8 : 5);
    } else {
      EXPECT_THAT(outcome.said, testing::Not(HasSubstr("error[")));
      expect_right(outcome.sum);
    }
    return has_struck ? 1 : 0;
  }

  FakeNccl fake_;
};

TEST_F(NcclReducerTest, EverySecondRankBringsAnId) {
  expect_right(live({}).sum);
  std::vector<int> makers;
  for (int rank = 0; rank < size(); rank += 2) makers.push_back(rank);
  EXPECT_EQ(fake_.id_makers(), makers);
}

TEST_F(NcclReducerTest, AddsUpAsMpiDoes) {
  const auto outcome = live({});
  EXPECT_EQ(outcome.kind, std::nullopt);
  EXPECT_EQ(outcome.said, "");
  expect_right(outcome.sum);
  EXPECT_EQ(fake_.num_calls("all_reduce"), 3);
  EXPECT_EQ(fake_.num_calls("destroy"), 1);
  EXPECT_EQ(fake_.num_calls("abort"), 0);
  expect_tidy();
}

TEST_F(NcclReducerTest, SaysWhatItIsAndAddsUpAnyLength) {
  int num_rests = 0;
  NcclReducer reducer(world(), kCpu, fake_.calls({}), patience(num_rests), kSizes);
  EXPECT_EQ(reducer.name(), "nccl");
  EXPECT_EQ(reducer.description(), "nccl 2.28.9 (/fake/libnccl.so.2)");
  for (const std::size_t length : {0u, 1u, 39u, 40u, 41u, 80u}) {
    std::vector<std::int64_t> values(length, rank() + 1);
    reducer.sum(values);
    EXPECT_EQ(values, std::vector<std::int64_t>(length, rank_sum() + size()));
  }
}

// Each call of each name, each way to go wrong, on each rank alone and on all: an agreed failure of
// one line in bounded time, or, at the end of its life, only a warning.
TEST_F(NcclReducerTest, WhateverGoesWrongAllRanksLeaveTogether) {
  live({});
  std::vector<std::pair<std::string, std::int64_t>> calls;
  for (const char* call :
       {"get_version", "get_unique_id", "init", "async_error", "all_reduce", "finalize"}) {
    // Ranks look a different number of times; what some of them do is tried.
    calls.emplace_back(call, world().max(fake_.num_calls(call)));
  }
  EXPECT_THAT(calls, testing::Contains(std::pair<std::string, std::int64_t>("all_reduce", 3)));
  int num_struck = 0;
  for (const auto& [call, num_calls] : calls) {
    for (int nth = 1; nth <= num_calls; ++nth) {
      for (const auto misdeed : {Misdeed::fails, Misdeed::fails_late, Misdeed::stalls}) {
        for (std::int64_t culprit = 0; culprit <= size(); ++culprit) {
          SCOPED_TRACE(
              format("{} {} misdeed {} rank {}", call, nth, static_cast<int>(misdeed), culprit));
          num_struck += scene({misdeed, call, nth, culprit == rank() || culprit == size()});
        }
      }
    }
  }
  // Rank 0 alone makes the unique id.
  EXPECT_GE(num_struck, 3 * (6 * (size() + 1) + 2));
}

TEST_F(NcclReducerTest, NamesTheRankThePhaseAndTheCause) {
  const auto culprit = size() - 1;
  auto outcome = live({Misdeed::fails, "all_reduce", 2, rank() == culprit});
  expect_agreed(outcome, "NCCL: the addition failed: ncclSystemError (planted)");
  // Those who hear of it only as a remote error leave it the word.
  EXPECT_EQ(outcome.said.empty(), rank() != culprit);
  outcome = live({Misdeed::fails_late, "init", 1, rank() == culprit});
  expect_agreed(outcome, "NCCL: the start failed: ncclInternalError (planted)");
  EXPECT_EQ(outcome.said.empty(), rank() != culprit);
}

TEST_F(NcclReducerTest, AStallEndsAtTheDeadline) {
  const auto outcome = live({Misdeed::stalls, "all_reduce", 1, rank() == size() / 2});
  expect_agreed(outcome, "the addition did not end within 120 s", 8);
  EXPECT_GE(outcome.num_rests, 120);
  EXPECT_EQ(fake_.num_calls("abort"), 1);
  EXPECT_EQ(fake_.num_calls("destroy"), 0);
}

TEST_F(NcclReducerTest, AnotherVersionIsRefusedBeforeTheStart) {
  const auto outcome = live({Misdeed::lies, "get_version", 1, rank() == size() - 1});
  EXPECT_EQ(outcome.kind, ErrorKind::environment);
  EXPECT_EQ(fake_.num_calls("init"), 0);
  if (rank() == size() - 1) {
    EXPECT_THAT(outcome.said, testing::AllOf(HasSubstr("2.28.9"), HasSubstr("2.23.4")));
  }
}

TEST_F(NcclReducerTest, ALaterVersionOfTheSameMajorOneWillDo) {
  for (const auto& [version, will_do] : std::map<int, bool>{
           {22808, false}, {22809, true}, {22810, true}, {22901, true}, {30001, false}}) {
    auto calls = fake_.calls({});
    calls.get_version = [version = version](int& found) {
      found = version;
      return NcclCode::success;
    };
    int num_rests = 0;
    testing::internal::CaptureStderr();
    std::string description;
    try {
      description = NcclReducer(world(), kCpu, calls, patience(num_rests), kSizes).description();
    } catch (const AgreedFailure&) {
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(!description.empty(), will_do) << version;
    const bool names_both = description.find("built with 2.28.9") != std::string::npos;
    EXPECT_EQ(names_both, will_do && version != 22809) << description;
  }
}

TEST_F(NcclReducerTest, RanksWithDifferentVersionsAreRefused) {
  auto calls = fake_.calls({});
  const int version = rank() == 0 ? 22809 : 23007;
  calls.header_version = version;
  calls.get_version = [version](int& found) {
    found = version;
    return NcclCode::success;
  };
  int num_rests = 0;
  testing::internal::CaptureStderr();
  std::optional<ErrorKind> kind;
  try {
    const NcclReducer reducer(world(), kCpu, calls, patience(num_rests), kSizes);
  } catch (const AgreedFailure& failure) {
    kind = failure.kind;
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(kind.has_value(), size() > 1);
  if (rank() == 1) {
    EXPECT_THAT(said, testing::AllOf(HasSubstr("2.28.9"), HasSubstr("2.30.7")));
  }
}

TEST_F(NcclReducerTest, AFailureAtTheEndIsOnlyAWarning) {
  for (const std::string call : {"finalize", "destroy"}) {
    const auto outcome = live({Misdeed::fails, call, 1, true});
    EXPECT_EQ(outcome.kind, std::nullopt);
    expect_right(outcome.sum);
    EXPECT_THAT(outcome.said, HasSubstr("tally: warning: NCCL"));
    expect_tidy();
  }
}

TEST_F(NcclReducerTest, AWrongSumIsFoundByTheCheck) {
  const auto layout = std::make_shared<exact::StateLayout>();
  layout->add_counters("hits", kLength);
  for (std::int64_t liar = 0; liar < size(); ++liar) {
    int num_rests = 0;
    const auto calls = fake_.calls({Misdeed::lies, "all_reduce", 2, rank() == liar});
    exact::State state(layout);
    std::optional<ErrorKind> kind;
    testing::internal::CaptureStderr();
    {
      NcclReducer reducer(world(), kCpu, calls, patience(num_rests), kSizes);
      try {
        verified_sum(reducer, world(), state);
      } catch (const AgreedFailure& failure) {
        kind = failure.kind;
      }
    }
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(kind, ErrorKind::internal);
    EXPECT_EQ(said.empty(), rank() != liar);
    if (rank() == liar) {
      EXPECT_THAT(said, HasSubstr("over nccl is wrong: hits[40] is 1, but 0 when"));
    }
    expect_tidy();
  }
}

TEST_F(NcclReducerTest, IsLeftAloneWhileAnExceptionUnwinds) {
  int num_rests = 0;
  const auto calls = fake_.calls({});
  EXPECT_THROW(
      {
        const NcclReducer reducer(world(), kCpu, calls, patience(num_rests), kSizes);
        throw Error(ErrorKind::dataset, "elsewhere");
      },
      Error);
  EXPECT_EQ(fake_.num_calls("finalize") + fake_.num_calls("abort") + fake_.num_calls("destroy"), 0);
}

}  // namespace
}  // namespace tally::comm
