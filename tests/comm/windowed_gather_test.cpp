// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/windowed_gather.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using Bytes = std::vector<std::byte>;

// What all ranks hold: the same on every rank, because every rank draws it with the same seed.
struct Case {
  std::vector<std::int64_t> rows_per_rank;
  std::vector<std::int64_t> row_bytes;
  std::int64_t window_bytes;

  std::int64_t rows_before(std::int64_t rank) const {
    return std::accumulate(rows_per_rank.begin(), rows_per_rank.begin() + rank, std::int64_t{0});
  }
  std::int64_t num_rows() const { return rows_before(std::ssize(rows_per_rank)); }
  // All rows of a column in global order.
  Bytes column(std::int64_t c) const {
    return pattern(1000 + c, num_rows() * row_bytes[static_cast<std::size_t>(c)]);
  }
};

Case random_case(std::mt19937_64& random, std::int64_t num_ranks) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Case drawn;
  for (std::int64_t r = 0; r < num_ranks; ++r) {
    drawn.rows_per_rank.push_back(draw(0, 2) == 0 ? 0 : draw(0, 40));
  }
  for (std::int64_t c = draw(0, 4); c > 0; --c) drawn.row_bytes.push_back(draw(0, 12));
  drawn.window_bytes = draw(0, 1) == 0 ? draw(1, 60) : draw(1, 4000);
  return drawn;
}

class WindowedGatherTest : public CommTest {
 protected:
  RowSource source_of(const Case& drawn) {
    RowSource source;
    source.num_rows = drawn.rows_per_rank[static_cast<std::size_t>(rank())];
    source.row_bytes = drawn.row_bytes;
    source.read = [this, &drawn](std::int64_t c, std::int64_t first, std::int64_t count,
                                 std::span<std::byte> out) {
      const std::int64_t width = drawn.row_bytes[static_cast<std::size_t>(c)];
      ASSERT_EQ(std::ssize(out), count * width);
      const Bytes all = drawn.column(c);
      std::copy_n(all.begin() + (drawn.rows_before(rank()) + first) * width, count * width,
                  out.begin());
    };
    return source;
  }
};

TEST_F(WindowedGatherTest, RandomRowsArriveInGlobalOrderInBoundedWindows) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    const Case drawn = random_case(random, size());
    world().set_max_piece(round % 3 == 0 ? 5 : 1 << 28);
    const std::int64_t all_bytes =
        std::accumulate(drawn.row_bytes.begin(), drawn.row_bytes.end(), std::int64_t{0});
    std::vector<Bytes> arrived(drawn.row_bytes.size());
    std::vector<std::int64_t> num_rows(drawn.row_bytes.size(), 0);

    gather_in_order(world(), source_of(drawn), drawn.window_bytes,
                    [&](std::int64_t c, std::int64_t count, std::span<const std::byte> rows) {
                      EXPECT_TRUE(world().is_root());
                      EXPECT_GT(count, 0);
                      EXPECT_LE(count * all_bytes, std::max(drawn.window_bytes, all_bytes));
                      auto& column = arrived[static_cast<std::size_t>(c)];
                      column.insert(column.end(), rows.begin(), rows.end());
                      num_rows[static_cast<std::size_t>(c)] += count;
                    });

    for (std::size_t c = 0; world().is_root() && c < arrived.size(); ++c) {
      EXPECT_EQ(arrived[c], drawn.column(static_cast<std::int64_t>(c))) << "round " << round;
      EXPECT_EQ(num_rows[c], drawn.num_rows()) << "round " << round;
    }
  }
}

TEST_F(WindowedGatherTest, AFailingReadIsAgreedOn) {
  const Case drawn{std::vector<std::int64_t>(static_cast<std::size_t>(size()), 10), {4, 8}, 24};
  RowSource source = source_of(drawn);
  if (rank() == size() - 1) {
    source.read = [](std::int64_t, std::int64_t, std::int64_t, std::span<std::byte>) {
      throw Error(ErrorKind::output, "the spill file cannot be read");
    };
  }
  std::optional<ErrorKind> kind;
  testing::internal::CaptureStderr();
  try {
    gather_in_order(world(), source, drawn.window_bytes, [](auto&&...) {});
  } catch (const AgreedFailure& failure) {
    kind = failure.kind;
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(kind, ErrorKind::output);
  EXPECT_EQ(said.empty(), rank() != size() - 1) << said;
}

TEST_F(WindowedGatherTest, AFailingSinkIsAgreedOnInAnyWindow) {
  const Case drawn{std::vector<std::int64_t>(static_cast<std::size_t>(size()), 3), {4, 8}, 36};
  const RowSource source = source_of(drawn);
  for (std::int64_t failing_call = 0; failing_call < 2 * size(); ++failing_call) {
    std::int64_t num_calls = 0;
    std::optional<ErrorKind> kind;
    testing::internal::CaptureStderr();
    try {
      gather_in_order(world(), source, drawn.window_bytes, [&](auto&&...) {
        if (num_calls++ == failing_call) throw Error(ErrorKind::output, "the disk is full");
      });
    } catch (const AgreedFailure& failure) {
      kind = failure.kind;
    }
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(kind, ErrorKind::output) << failing_call;
    EXPECT_EQ(said.empty(), rank() != 0) << said;
    EXPECT_EQ(num_calls, rank() == 0 ? failing_call + 1 : 0);
  }
}

}  // namespace
}  // namespace tally::comm
