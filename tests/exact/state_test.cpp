// SPDX-License-Identifier: Apache-2.0
#include <tally/exact/state.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <tally/base/error.hpp>

namespace tally::exact {
namespace {

using testing::ElementsAre;

struct Fixture {
  Fixture() {
    auto made = std::make_shared<StateLayout>();
    counters = made->add_counters("a.counts", 3);
    sum = made->add_sum("b.sum", SumKind::float32);
    wide = made->add_sum("c.sum", SumKind::float64);
    layout = made;
  }
  std::shared_ptr<const StateLayout> layout;
  StateSpan counters, sum, wide;
};

TEST(StateLayout, PlacesSpansOneAfterAnother) {
  const Fixture f;

  EXPECT_EQ(f.counters.offset, 0);
  EXPECT_EQ(f.sum.offset, 3);
  EXPECT_EQ(f.wide.offset, 3 + num_limbs(SumKind::float32));
  EXPECT_EQ(f.layout->length(), f.wide.offset + num_limbs(SumKind::float64));
  EXPECT_EQ(f.layout->num_bytes(), 8 * f.layout->length());
  EXPECT_EQ(f.layout->find("b.sum").offset, 3);
  EXPECT_EQ(f.layout->description(),
            "a.counts counters 0 3\nb.sum float32_sum 3 10\nc.sum float64_sum 13 67\n");
}

TEST(StateLayout, RefusesTwinsEmptySpansAndUnknownNames) {
  StateLayout layout;
  layout.add_counters("x", 1);
  EXPECT_THROW(layout.add_sum("x", SumKind::float32), Error);
  EXPECT_THROW(layout.add_counters("y", 0), Error);
  EXPECT_THROW(layout.find("y"), Error);
}

TEST(State, StartsAtZeroAndCutsSpans) {
  const Fixture f;
  State state(f.layout);
  EXPECT_EQ(std::count(state.values().begin(), state.values().end(), 0), f.layout->length());

  state.of(f.counters)[1] = 42;

  EXPECT_THAT(std::as_const(state).of(f.counters), ElementsAre(0, 42, 0));
  EXPECT_EQ(state.values()[1], 42);
  EXPECT_THROW(state.of(StateSpan{"far", SpanKind::counters, 70, 20}), Error);
}

TEST(State, RefusesToMergeAnotherLayout) {
  const Fixture f;
  const Fixture same;
  auto other = std::make_shared<StateLayout>();
  other->add_counters("a.counts", f.layout->length());
  State state(f.layout);

  EXPECT_NO_THROW(state.merge(State(same.layout)));
  EXPECT_THROW(state.merge(State(other)), Error);
  EXPECT_THROW(State(nullptr), Error);
}

TEST(State, BytesAreLittleEndianAndCanonicalOnly) {
  const Fixture f;
  State state(f.layout);
  state.of(f.counters)[0] = 0x0102030405060708;
  add(state.of(f.sum), -1.0f);
  EXPECT_THROW(state.bytes(), Error);

  state.canonicalise();

  const auto bytes = state.bytes();
  EXPECT_EQ(std::int64_t(bytes.size()), f.layout->num_bytes());
  EXPECT_EQ(bytes[0], std::byte{8});
  EXPECT_EQ(bytes[7], std::byte{1});
}

TEST(State, CountersAreNotCarried) {
  const Fixture f;
  State state(f.layout);
  state.of(f.counters)[0] = (std::int64_t{1} << 40) + 5;
  state.canonicalise();
  EXPECT_EQ(state.of(f.counters)[0], (std::int64_t{1} << 40) + 5);
}

// The law that everything rests on: any split of the samples, merged in any order, is one state.
TEST(State, MergesToTheSameBitsForAnySplitAndOrder) {
  const Fixture f;
  std::mt19937_64 random(29);
  std::normal_distribution<float> losses(0.0f, 100.0f);
  std::vector<float> values(400);
  std::generate(values.begin(), values.end(), [&] { return losses(random); });
  const auto feed = [&](State& state, float value) {
    state.of(f.counters)[value < 0 ? 0 : 2] += 1;
    add(state.of(f.sum), value);
    add(state.of(f.wide), double{value} * 1e-200);
  };
  State whole(f.layout);
  for (const float value : values) feed(whole, value);
  whole.canonicalise();

  for (const std::size_t parts : {1u, 2u, 3u, 8u, 500u}) {
    std::vector<State> states(parts, State(f.layout));
    std::uniform_int_distribution<std::size_t> owner(0, parts - 1);
    for (const float value : values) feed(states[owner(random)], value);
    std::shuffle(states.begin(), states.end(), random);
    State merged(f.layout);
    for (const State& part : states) merged.merge(part);
    EXPECT_TRUE(std::ranges::equal(merged.bytes(), whole.bytes())) << parts << " parts";
  }
}

}  // namespace
}  // namespace tally::exact
