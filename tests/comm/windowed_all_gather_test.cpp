// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/windowed_gather.hpp>

#include <numeric>
#include <optional>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using Bytes = std::vector<std::byte>;
using ShareInTurnTest = CommTest;

TEST_F(ShareInTurnTest, EveryRankGetsAllRowsInRankOrderInBoundedWindows) {
  std::mt19937_64 random(11);  // the same on every rank
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t row_bytes = draw(1, 9);
    const std::int64_t window_bytes = draw(1, round % 2 == 0 ? 30 : 3000);
    std::vector<Bytes> expected;
    for (std::int64_t r = 0; r < size(); ++r) {
      expected.push_back(pattern(r, row_bytes * (draw(0, 2) == 0 ? 0 : draw(0, 40))));
    }
    world().set_max_piece(round % 3 == 0 ? 4 : 1 << 28);
    std::vector<Bytes> arrived(expected.size());
    std::int64_t last_rank = 0;

    windowed_all_gather(world(), expected[static_cast<std::size_t>(rank())], row_bytes,
                        window_bytes, [&](std::int64_t from, std::span<const std::byte> rows) {
                          EXPECT_GE(from, last_rank);
                          EXPECT_FALSE(rows.empty());
                          EXPECT_LE(std::ssize(rows), std::max(window_bytes, row_bytes));
                          auto& all = arrived[static_cast<std::size_t>(from)];
                          all.insert(all.end(), rows.begin(), rows.end());
                          last_rank = from;
                        });

    EXPECT_EQ(arrived, expected) << "round " << round;
  }
}

TEST_F(ShareInTurnTest, WhatATakerThrowsIsAgreedOn) {
  const Bytes local = pattern(rank(), 12);
  std::optional<ErrorKind> kind;
  testing::internal::CaptureStderr();
  try {
    windowed_all_gather(world(), local, 4, 8, [&](std::int64_t, std::span<const std::byte>) {
      if (rank() == size() - 1) throw Error(ErrorKind::numeric, "planted");
    });
  } catch (const AgreedFailure& failure) {
    kind = failure.kind;
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(kind, ErrorKind::numeric);
  EXPECT_EQ(said.empty(), rank() != size() - 1) << said;
}

TEST_F(ShareInTurnTest, BytesThatAreNoWholeRowsAreRefused) {
  const Bytes local(7);
  EXPECT_THROW(windowed_all_gather(world(), local, 4, 8, [](auto&&...) {}), Error);
  EXPECT_THROW(windowed_all_gather(world(), local, 0, 8, [](auto&&...) {}), Error);
}

}  // namespace
}  // namespace tally::comm
