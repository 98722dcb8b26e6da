// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/reducer.hpp>

#include <gmock/gmock.h>

#include <limits>

#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using testing::HasSubstr;

// Adds up as it should, but for one element on one rank.
class LyingReducer final : public Reducer {
 public:
  LyingReducer(Communicator& comm, std::size_t element, bool here)
      : comm_(comm), element_(element), here_(here) {}

  void sum(std::span<std::int64_t> values) override {
    comm_.sum_in_place(values);
    if (here_) values[element_] ^= 1;
  }
  std::string_view name() const override { return "liar"; }
  std::string description() const override { return "liar"; }

 private:
  Communicator& comm_;
  std::size_t element_;
  bool here_;
};

class CheckedSumTest : public CommTest {
 protected:
  exact::State state() {
    auto layout = std::make_shared<exact::StateLayout>();
    layout->add_counters("a.count", 1);
    layout->add_counters("b.per_class", 20);
    exact::State made(layout);
    for (std::size_t i = 0; i < 21; ++i) {
      made.values()[i] = static_cast<std::int64_t>(i) * (rank() + 1);
    }
    return made;
  }
};

TEST_F(CheckedSumTest, PassesARightSum) {
  for (const std::int64_t piece : {3, 1 << 20}) {
    world().set_max_piece(piece);
    auto local = state();
    const auto reducer = make_reducer(ReduceRequest::mpi, {DeviceKind::cpu, 0, ""}, world());
    verified_sum(*reducer, world(), local);
    for (std::size_t i = 0; i < 21; ++i) {
      EXPECT_EQ(local.values()[i], static_cast<std::int64_t>(i) * (rank_sum() + size()));
    }
  }
}

TEST_F(CheckedSumTest, SumsWrapAsThoseOfMpi) {
  auto local = state();
  local.values()[5] = std::numeric_limits<std::int64_t>::max() - 1;
  const auto reducer = make_reducer(ReduceRequest::mpi, {DeviceKind::cpu, 0, ""}, world());
  verified_sum(*reducer, world(), local);
}

TEST_F(CheckedSumTest, NamesTheSpanAndBothValuesWhereverItIsWrong) {
  for (std::int64_t liar = 0; liar < size(); ++liar) {
    for (const std::size_t element : {0u, 1u, 18u, 20u}) {
      auto local = state();
      LyingReducer reducer(world(), element, rank() == liar);
      testing::internal::CaptureStderr();
      std::optional<ErrorKind> kind;
      try {
        verified_sum(reducer, world(), local);
      } catch (const AgreedFailure& failure) {
        kind = failure.kind;
      }
      const auto said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(kind, ErrorKind::internal);
      EXPECT_EQ(said.empty(), rank() != liar);
      if (rank() != liar) continue;
      const auto right = static_cast<std::int64_t>(element) * (rank_sum() + size());
      const auto place = element == 0 ? std::string("a.count[0]")
                                      : "b.per_class[" + std::to_string(element - 1) + "]";
      EXPECT_THAT(said, HasSubstr("over liar is wrong: " + place + " is " +
                                  std::to_string(right ^ 1) + ", but " + std::to_string(right)));
    }
  }
}

}  // namespace
}  // namespace tally::comm
