// SPDX-License-Identifier: Apache-2.0
#include "node_board.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tally/comm/communicator.hpp>

namespace tally::watchdog {
namespace {

constexpr std::size_t kBytes = comm::kNodeMemoryPerRank;

Sign sign_of(int rank, std::uint64_t beats) {
  Sign sign;
  sign.presence = Presence::here;
  sign.rank = rank;
  sign.beats = beats;
  sign.pid = static_cast<std::int64_t>(beats);
  sign.object << std::string(100, static_cast<char>('a' + beats % 26));
  return sign;
}

TEST(NodeBoard, ShowsEachRanksSign) {
  alignas(64) std::vector<std::byte> memory(3 * kBytes);
  NodeBoard mine(memory);
  NodeBoard other(memory);  // of another process, it could be
  ASSERT_EQ(mine.num_ranks(), 3U);
  EXPECT_EQ(mine.look()[2].presence, Presence::not_yet);
  other.show(2, sign_of(2, 5));
  EXPECT_EQ(mine.look()[2].beats, 5U);
  EXPECT_EQ(mine.look()[2].object.view(), std::string(100, 'f'));
  EXPECT_EQ(mine.look()[0].presence, Presence::not_yet);
}

TEST(NodeBoard, WithoutMemoryARankSeesItself) {
  NodeBoard board({});
  ASSERT_EQ(board.num_ranks(), 1U);
  board.show(0, sign_of(0, 9));
  EXPECT_EQ(board.look()[0].beats, 9U);
}

TEST(NodeBoard, NeverShowsHalfASign) {
  alignas(64) std::vector<std::byte> memory(kBytes);
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    NodeBoard board(memory);
    for (std::uint64_t beats = 1; beats <= 200'000; ++beats) board.show(0, sign_of(0, beats));
    is_over = true;
  });
  NodeBoard board(memory);
  std::uint64_t latest = 0;
  while (!is_over) {
    const Sign& sign = board.look()[0];
    EXPECT_GE(sign.beats, latest);
    latest = sign.beats;
    if (sign.presence == Presence::not_yet) continue;
    ASSERT_EQ(sign.pid, static_cast<std::int64_t>(sign.beats));
    ASSERT_EQ(sign.object.view(), std::string(100, static_cast<char>('a' + sign.beats % 26)));
  }
  writer.join();
}

}  // namespace
}  // namespace tally::watchdog
