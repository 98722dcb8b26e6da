// SPDX-License-Identifier: Apache-2.0
#include "dcp/chunk_cover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

using testing::HasSubstr;

std::string refusal(const Shape& shape, const std::vector<Chunk>& chunks) {
  try {
    check_cover(shape, chunks);
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

// A grid of chunks, rows and columns cut at these places.
std::vector<Chunk> grid(const std::vector<std::int64_t>& rows,
                        const std::vector<std::int64_t>& columns) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::size_t k = 0; k + 1 < columns.size(); ++k) {
      chunks.push_back(
          {{rows[i], columns[k]}, {rows[i + 1] - rows[i], columns[k + 1] - columns[k]}});
    }
  }
  return chunks;
}

TEST(ChunkCoverTest, WholeTensors) {
  EXPECT_EQ(refusal({}, {{{}, {}}}), "");
  EXPECT_EQ(refusal({5}, {{{3}, {2}}, {{0}, {3}}}), "");
  EXPECT_EQ(refusal({5}, {{{0}, {5}}, {{5}, {0}}, {{5}, {0}}}), "");
  EXPECT_EQ(refusal({0, 3}, {}), "");
  EXPECT_EQ(refusal({0, 3}, {{{0, 0}, {0, 3}}}), "");
  EXPECT_EQ(refusal({7, 5}, grid({0, 2, 4, 7}, {0, 1, 5})), "");
  // The rows of each half of the columns are cut elsewhere.
  EXPECT_EQ(
      refusal({4, 4}, {{{0, 0}, {1, 2}}, {{1, 0}, {3, 2}}, {{0, 2}, {2, 2}}, {{2, 2}, {2, 2}}}),
      "");
  const std::int64_t huge = 1'000'000'000'000;
  EXPECT_EQ(refusal({huge}, {{{0}, {huge / 3}}, {{huge / 3}, {huge - huge / 3}}}), "");
}

TEST(ChunkCoverTest, ManyChunks) {
  std::vector<std::int64_t> cuts(301);
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = static_cast<std::int64_t>(i);
  auto chunks = grid(cuts, cuts);
  EXPECT_EQ(refusal({300, 300}, chunks), "");
  chunks[70'000].offsets = {0, 0};
  EXPECT_EQ(refusal({300, 300}, chunks), "its chunks overlap");
}

TEST(ChunkCoverTest, WhatIsRefused) {
  EXPECT_EQ(refusal({5}, {{{0}, {3}}}), "its chunks have 3 of its 5 elements");
  EXPECT_EQ(refusal({5}, {}), "its chunks have 0 of its 5 elements");
  EXPECT_EQ(refusal({}, {}), "its chunks have 0 of its 1 elements");
  EXPECT_EQ(refusal({}, {{{}, {}}, {{}, {}}}), "its chunks overlap");
  EXPECT_EQ(refusal({5}, {{{0}, {3}}, {{2}, {3}}}), "its chunks overlap");
  EXPECT_EQ(refusal({6}, {{{0}, {3}}, {{0}, {3}}}), "its chunks overlap");
  // As many elements as there are, but some twice.
  EXPECT_EQ(refusal({2, 2}, {{{0, 0}, {1, 2}}, {{0, 0}, {2, 1}}}), "its chunks overlap");
  EXPECT_EQ(refusal({5, 2}, {{{0, 0}, {5, 1}},
                             {{0, 1}, {1, 1}},
                             {{1, 1}, {1, 1}},
                             {{2, 1}, {1, 1}},
                             {{3, 0}, {2, 1}}}),
            "its chunks overlap");
  const auto outside = HasSubstr("lies outside of its shape [5]");
  EXPECT_THAT(refusal({5}, {{{0}, {6}}}), outside);
  EXPECT_THAT(refusal({5}, {{{3}, {3}}}), outside);
  EXPECT_THAT(refusal({5}, {{{6}, {0}}}), outside);
  EXPECT_THAT(refusal({5}, {{{-1}, {6}}}), outside);
  EXPECT_THAT(refusal({5}, {{{0}, {-5}}}), outside);
  EXPECT_THAT(refusal({5}, {{{INT64_MAX}, {INT64_MAX}}}), outside);
  EXPECT_THAT(refusal({5}, {{{0, 0}, {5, 1}}}), outside);
  EXPECT_THAT(refusal({INT64_MAX, INT64_MAX}, {}), HasSubstr("impossible size"));
}

}  // namespace
}  // namespace tally::weights
