// SPDX-License-Identifier: Apache-2.0
// Sums of states over ranks: one alone, or several at a time.
#include "reduce_states.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include <tally/exact/sum.hpp>

#include "aggregate_fixture.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;

// 53 bits, so that the limbs of two of them exceed their 32 bits.
const double kAlmostOne = std::nextafter(1.0, 0.0);

// Adds up, counts the calls, and adds too much to the first value.
class CountingReducer final : public comm::Reducer {
 public:
  CountingReducer(const comm::Communicator& comm, std::int64_t too_much)
      : comm_(comm), too_much_(too_much) {}

  void sum(std::span<std::int64_t> values) override {
    ++num_calls;
    comm_.sum_in_place(values);
    if (!values.empty()) values[0] += too_much_;
  }
  std::string_view name() const override { return "counting"; }
  std::string description() const override { return "counting"; }

  int num_calls = 0;

 private:
  const comm::Communicator& comm_;
  std::int64_t too_much_;
};

class ReduceStatesTest : public comm::CommTest {
 protected:
  // As many states, each of two counters and a sum of which every bit is set.
  std::vector<exact::State> states(std::size_t count) {
    const auto layout = std::make_shared<exact::StateLayout>();
    const auto counters = layout->add_counters("counters", 2);
    sum_ = layout->add_sum("sum", exact::SumKind::float64);
    std::vector<exact::State> made(count, exact::State(layout));
    for (std::size_t i = 0; i < count; ++i) {
      made[i].of(counters)[0] = rank() + 1;
      made[i].of(counters)[1] = static_cast<std::int64_t>(i) * rank();
      exact::add(made[i].of(sum_), kAlmostOne);
    }
    return made;
  }
  void expect_sums(const exact::State& state, std::int64_t i) {
    EXPECT_EQ(state.values()[0], rank_sum() + size());
    EXPECT_EQ(state.values()[1], i * rank_sum());
    EXPECT_EQ(exact::value(state.of(sum_), exact::SumKind::float64),
              static_cast<double>(size()) * kAlmostOne);
    EXPECT_NO_THROW(state.bytes()) << "the sums carry";
  }
  EvaluationSession session_of(bool is_checked, std::int64_t too_much = 0) {
    config::RunConfig config;
    config.execution.check_reduction = is_checked;
    EvaluationSession session(config);
    auto reducer = std::make_unique<CountingReducer>(world(), too_much);
    reducer_ = reducer.get();
    session.reducer = std::move(reducer);
    return session;
  }

  exact::StateSpan sum_;
  CountingReducer* reducer_ = nullptr;
};

TEST_F(ReduceStatesTest, AStateBecomesThatOfAllRanks) {
  for (const bool is_checked : {false, true}) {
    const auto session = session_of(is_checked);
    auto local = states(1);
    reduce(world(), session, local[0]);
    local[0].canonicalise();
    expect_sums(local[0], 0);
  }
}

TEST_F(ReduceStatesTest, SeveralStatesStayApart) {
  for (const bool is_checked : {false, true}) {
    const auto session = session_of(is_checked);
    auto local = states(5);
    reduce_all(world(), session, local);
    for (std::size_t i = 0; i < local.size(); ++i) {
      expect_sums(local[i], static_cast<std::int64_t>(i));
    }
    auto none = states(0);
    reduce_all(world(), session, none);
    EXPECT_TRUE(none.empty());
  }
}

TEST_F(ReduceStatesTest, SeveralStatesTakeOneRoundTrip) {
  const auto session = session_of(false);
  auto local = states(300);
  reduce_all(world(), session, local);
  EXPECT_EQ(reducer_->num_calls, 1);
}

TEST_F(ReduceStatesTest, AWrongSumIsFoundWhereItIsChecked) {
  const auto checked = session_of(true, rank() == size() - 1 ? 2 : 0);
  const std::string problem = "the reduction over counting is wrong: counters[0] is ";
  auto alone = states(1);
  EXPECT_THAT(refusal_of(ErrorKind::internal, [&] { reduce(world(), checked, alone[0]); }),
              HasSubstr(problem));
  auto local = states(3);
  EXPECT_THAT(refusal_of(ErrorKind::internal, [&] { reduce_all(world(), checked, local); }),
              HasSubstr(problem));
}

}  // namespace
}  // namespace tally::app
