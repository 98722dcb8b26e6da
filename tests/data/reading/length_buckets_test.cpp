// SPDX-License-Identifier: Apache-2.0
// Batches of samples of about the same length.
#include <tally/data/length_buckets.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include <tally/base/checked_cast.hpp>

#include "question_file.hpp"
#include "raw_hdf5.hpp"

namespace tally::data {
namespace {

using Memory = std::vector<std::vector<std::byte>>;

// What a batch held when it was handed out.
struct Copy {
  std::int64_t index = 0;
  std::vector<std::int64_t> indices;
  bool ends_block = true;
  std::int64_t length = 0;
  std::vector<std::vector<std::byte>> tensors;  // inputs, then targets
  bool operator==(const Copy&) const = default;
};

std::vector<std::byte> bytes_of(const TensorView& tensor) {
  std::vector<std::byte> bytes(to_size(num_elements(tensor.shape) * size_bytes(tensor.dtype)));
  std::memcpy(bytes.data(), tensor.data, bytes.size());
  return bytes;
}

Copy copy_of(const Batch& batch) {
  Copy copy{batch.index, batch.indices, batch.ends_block, batch.inputs.at(1).shape.at(1), {}};
  for (const auto* tensors : {&batch.inputs, &batch.targets}) {
    for (const TensorView& tensor : *tensors) copy.tensors.push_back(bytes_of(tensor));
  }
  return copy;
}

struct Split {
  std::int64_t batch_size = 4, batches_per_block = 3;
  int world_size = 1;
  std::size_t num_slots = 1;
};

Memory make_memory(std::size_t count, std::int64_t bytes) {
  return Memory(count, std::vector<std::byte>(to_size(bytes), std::byte{0xa5}));
}

// The batches of all ranks, one rank behind the other.
class Batches {
 public:
  explicit Batches(const QuestionFile& file) : file_(file) { file.write(folder_ / "a.h5"); }

  std::vector<Copy> of(const Split& split) {
    std::vector<Copy> all;
    const plan::BatchGrid grid(file_.num_samples(), split.batch_size, split.batches_per_block);
    for (int rank = 0; rank < split.world_size; ++rank) {
      take(split, grid.slice_of(rank, split.world_size), all);
    }
    return all;
  }

 private:
  void take(const Split& split, plan::BatchRange slice, std::vector<Copy>& all) {
    DataSet data_set(folder_ / "a.h5");
    const std::int64_t block_size = split.batch_size * split.batches_per_block;
    const plan::BatchGrid blocks(file_.num_samples(), block_size);
    const auto blocks_before = [&](std::int64_t batch) {
      return (batch + split.batches_per_block - 1) / split.batches_per_block;
    };
    const std::int64_t first = blocks_before(slice.first);
    Memory block_memory = make_memory(2, slot_bytes(data_set.info(), block_size));
    Memory memory = make_memory(split.num_slots, slot_bytes(data_set.info(), split.batch_size));
    BatchReader reader(data_set, blocks, {first, blocks_before(slice.end()) - first},
                       {block_memory.begin(), block_memory.end()});
    LengthBuckets buckets(reader, data_set.info(), split.batch_size, split.batches_per_block,
                          {memory.begin(), memory.end()});
    std::deque<std::pair<const Batch*, Copy>> held;
    while (const Batch* batch = buckets.next()) {
      all.push_back(copy_of(*batch));
      held.emplace_back(batch, all.back());
      if (held.size() > split.num_slots) held.pop_front();
      for (const auto& [one, copy] : held) EXPECT_TRUE(copy_of(*one) == copy);
    }
    EXPECT_EQ(buckets.next(), nullptr);
  }

  QuestionFile file_;
  raw::TemporaryFolder folder_;
};

// Each block sorted by length, cut into batches.
std::vector<std::vector<std::int64_t>> expected_order(const QuestionFile& file,
                                                      const Split& split) {
  std::vector<std::vector<std::int64_t>> batches;
  const std::int64_t block_size = split.batch_size * split.batches_per_block;
  for (std::int64_t first = 0; first < file.num_samples(); first += block_size) {
    std::vector<std::pair<std::int32_t, std::int64_t>> block;
    for (std::int64_t i = first; i < std::min(first + block_size, file.num_samples()); ++i) {
      block.emplace_back(file.windows[to_size(i)].length, i);
    }
    std::ranges::sort(block);
    for (std::size_t at = 0; at < block.size(); ++at) {
      if (at % to_size(split.batch_size) == 0) batches.emplace_back();
      batches.back().push_back(block[at].second);
    }
  }
  return batches;
}

// The ids of these rows, cut to `length`, and zeros up to the batch's size.
std::vector<std::byte> expected_ids(const QuestionFile& file, const std::vector<std::int64_t>& rows,
                                    std::int64_t length, std::int64_t batch_size) {
  const auto ids = file.input_ids();
  std::vector<std::int32_t> expected;
  for (const std::int64_t row : rows) {
    const auto begin = ids.begin() + row * file.tokens_of_row;
    expected.insert(expected.end(), begin, begin + length);
  }
  expected.resize(to_size(length * batch_size));
  const auto bytes = std::as_bytes(std::span(expected));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> expected_units(const std::vector<std::int64_t>& rows,
                                      std::int64_t batch_size) {
  std::vector<std::int64_t> expected = rows;  // each sample is a question
  expected.resize(to_size(batch_size));
  const auto bytes = std::as_bytes(std::span(expected));
  return {bytes.begin(), bytes.end()};
}

void expect_right(const QuestionFile& file, const Split& split, const std::vector<Copy>& batches) {
  const auto order = expected_order(file, split);
  ASSERT_EQ(batches.size(), order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Copy& batch = batches[k];
    EXPECT_EQ(batch.index, static_cast<std::int64_t>(k));
    ASSERT_EQ(batch.indices, order[k]);
    const std::int64_t longest = file.windows[to_size(order[k].back())].length;
    const std::int64_t length = std::min((longest + 7) / 8 * 8, file.tokens_of_row);
    ASSERT_EQ(batch.length, length);
    EXPECT_EQ(batch.tensors.at(1), expected_ids(file, order[k], length, split.batch_size));
    EXPECT_EQ(batch.tensors.at(6), expected_units(order[k], split.batch_size));
    const bool is_last = k + 1 == order.size();
    EXPECT_EQ(batch.ends_block, is_last || (k + 1) % to_size(split.batches_per_block) == 0);
  }
}

TEST(LengthBuckets, SortEachBlockAndCutItsBatches) {
  // Blocks of 4: lengths that tie stay in order, 9 takes 16 tokens, 17 to 20 all there are.
  Batches batches(questions_of_lengths({9, 2, 9, 2, /**/ 20, 17, 8, 1, /**/ 3}, 20));
  const auto found = batches.of({.batch_size = 2, .batches_per_block = 2});
  std::vector<std::vector<std::int64_t>> indices;
  std::vector<std::int64_t> lengths;
  for (const Copy& batch : found) {
    indices.push_back(batch.indices);
    lengths.push_back(batch.length);
  }
  EXPECT_EQ(indices, (std::vector<std::vector<std::int64_t>>{{1, 3}, {0, 2}, {7, 6}, {5, 4}, {8}}));
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{8, 16, 8, 20, 8}));
}

TEST(LengthBuckets, LeaveSamplesWhereBlocksAreOneBatchOfOne) {
  const QuestionFile file = questions_of_lengths({5, 3, 9}, 12);
  Batches batches(file);
  const Split split{.batch_size = 1, .batches_per_block = 1};
  const auto found = batches.of(split);
  expect_right(file, split, found);
  EXPECT_EQ(found.at(2).indices, std::vector<std::int64_t>{2});
}

TEST(LengthBuckets, AreTheSameForAnySplitOverRanks) {
  std::mt19937 random(3);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (int trial = 0; trial < 12; ++trial) {
    const std::int64_t tokens = 7 + up_to(40);
    std::vector<std::int32_t> lengths(to_size(up_to(90)));
    for (auto& length : lengths) length = up_to(static_cast<int>(tokens));
    const QuestionFile file = questions_of_lengths(lengths, tokens);
    Batches batches(file);
    Split split{.batch_size = up_to(9), .batches_per_block = up_to(6)};
    SCOPED_TRACE(testing::Message()
                 << lengths.size() << " samples of " << tokens << " tokens, batches of "
                 << split.batch_size << ", blocks of " << split.batches_per_block);
    const auto whole = batches.of(split);
    expect_right(file, split, whole);
    for (const int world_size : {2, 3, 5}) {
      split.world_size = world_size;
      split.num_slots = to_size(up_to(4));
      EXPECT_TRUE(batches.of(split) == whole) << world_size << " ranks";
    }
  }
}

}  // namespace
}  // namespace tally::data
