// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <tally/base/error.hpp>
#include <tally/predictions/prediction_log.hpp>

#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

using Bytes = std::vector<std::byte>;
using Lengths = std::vector<std::int64_t>;

const std::vector<ColumnSpec> kSpecs{{"index", DType::i64, {}},
                                     {"answer", DType::u8, {}, true},
                                     {"boxes", DType::f32, {4}, true},
                                     {"nothing", DType::f32, {0}, true}};

// A log and what it should hold.
class LogAndOracle {
 public:
  LogAndOracle(const std::filesystem::path& folder, std::int64_t memory_bytes, unsigned seed)
      : log(kSpecs, folder, memory_bytes),
        values(kSpecs.size()),
        lengths(kSpecs.size()),
        random(seed) {}

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }

  void append(std::int64_t num_rows, std::int64_t longest) {
    RecordBatch batch{.num_rows = num_rows, .columns = {}, .lengths = {}};
    for (std::size_t c = 0; c < kSpecs.size(); ++c) {
      Lengths of_rows;
      if (kSpecs[c].ragged) {
        for (std::int64_t i = 0; i < num_rows; ++i) of_rows.push_back(draw(0, longest));
      }
      const std::int64_t items =
          kSpecs[c].ragged ? std::accumulate(of_rows.begin(), of_rows.end(), 0L) : num_rows;
      Bytes bytes(static_cast<std::size_t>(items * kSpecs[c].row_bytes()));
      for (auto& byte : bytes) byte = static_cast<std::byte>(random());
      values[c].insert(values[c].end(), bytes.begin(), bytes.end());
      lengths[c].insert(lengths[c].end(), of_rows.begin(), of_rows.end());
      batch.columns.push_back(std::move(bytes));
      batch.lengths.push_back(std::move(of_rows));
    }
    log.append(batch);
    num_rows_ += num_rows;
  }

  void expect_lengths(std::int64_t column, std::int64_t first, std::int64_t count) const {
    Lengths got(static_cast<std::size_t>(count));
    log.read_lengths(column, first, count, std::as_writable_bytes(std::span(got)));
    const auto from = lengths[static_cast<std::size_t>(column)].begin() + first;
    EXPECT_EQ(got, Lengths(from, from + count));
  }

  void expect_elements(std::int64_t column, std::int64_t first, std::int64_t count) const {
    const auto c = static_cast<std::size_t>(column);
    const std::int64_t width = kSpecs[c].row_bytes();
    Bytes got(static_cast<std::size_t>(count * width));
    log.read_elements(column, first, count, got);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), values[c].begin() + first * width))
        << kSpecs[c].name << ": " << first << " + " << count;
  }

  void expect_all() {
    EXPECT_EQ(log.num_rows(), num_rows_);
    Bytes fixed(static_cast<std::size_t>(8 * num_rows_));
    log.read(0, 0, num_rows_, fixed);
    EXPECT_EQ(fixed, values[0]);
    for (std::int64_t column = 1; column < std::ssize(kSpecs); ++column) {
      const auto& expected = lengths[static_cast<std::size_t>(column)];
      const std::int64_t num_elements = std::accumulate(expected.begin(), expected.end(), 0L);
      ASSERT_EQ(log.num_elements(column), num_elements);
      expect_lengths(column, 0, num_rows_);
      expect_elements(column, 0, num_elements);
      for (int i = 0; i < 10; ++i) {
        const std::int64_t row = draw(0, num_rows_);
        expect_lengths(column, row, draw(0, num_rows_ - row));
        const std::int64_t element = draw(0, num_elements);
        expect_elements(column, element, draw(0, num_elements - element));
      }
    }
  }

  PredictionLog log;
  std::vector<Bytes> values;
  std::vector<Lengths> lengths;
  std::mt19937 random;

 private:
  std::int64_t num_rows_ = 0;
};

TEST(RaggedLog, RandomAppendsAndReadsEqualTheOracle) {
  const TemporaryFolder folder;
  for (unsigned seed = 0; seed < 30; ++seed) {
    LogAndOracle both(folder.path(), seed % 5 == 0 ? 0 : seed * 97, seed);
    for (int i = 0; i < 30; ++i) {
      // No rows, empty rows, and now and then a row that is larger than the memory.
      both.append(both.draw(0, 2) == 0 ? 0 : both.draw(0, 9), both.draw(0, 3) * both.draw(0, 20));
      if (i == 17) both.append(1, 4000);
      if (i % 7 == 0) both.expect_all();
    }
    both.expect_all();
    EXPECT_GT(both.log.spilled_bytes(), 0);
    EXPECT_TRUE(folder.is_empty()) << "the spill file has a name";
  }
}

TEST(RaggedLog, AllRowsMayBeEmpty) {
  const TemporaryFolder folder;
  LogAndOracle both(folder.path(), 1 << 10, 1);
  for (int i = 0; i < 10; ++i) both.append(50, 0);
  EXPECT_GT(both.log.spilled_bytes(), 0) << "lengths take memory, too";
  both.expect_all();
}

TEST(RaggedLog, NoRowsAreNoElements) {
  const PredictionLog log(kSpecs, "/nonexistent", 0);
  EXPECT_EQ(log.num_rows(), 0);
  EXPECT_EQ(log.num_elements(1), 0);
  log.read_lengths(1, 0, 0, {});
  log.read_elements(1, 0, 0, {});
}

// One ragged column has half of the memory, the others have the other half.
TEST(RaggedLog, SpillsWhenEitherShareIsFull) {
  const TemporaryFolder folder;
  const auto append = [](PredictionLog& log, std::int64_t length) {
    log.append({.num_rows = 1,
                .columns = {Bytes(8), Bytes(static_cast<std::size_t>(length))},
                .lengths = {{}, {length}}});
  };
  PredictionLog long_texts({kSpecs[0], kSpecs[1]}, folder.path(), 200);
  append(long_texts, 60);
  append(long_texts, 40);
  EXPECT_EQ(long_texts.spilled_bytes(), 0);
  append(long_texts, 1);
  EXPECT_EQ(long_texts.spilled_bytes(), 2 * 16 + 100);
  append(long_texts, 101);  // at once, after what was held
  EXPECT_EQ(long_texts.spilled_bytes(), 4 * 16 + 202);

  PredictionLog short_texts({kSpecs[0], kSpecs[1]}, folder.path(), 200);
  for (int i = 0; i < 6; ++i) append(short_texts, 1);
  EXPECT_EQ(short_texts.spilled_bytes(), 0);
  append(short_texts, 1);
  EXPECT_EQ(short_texts.spilled_bytes(), 6 * 17);
}

TEST(RaggedLog, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  PredictionLog log({kSpecs[1], kSpecs[0]}, folder.path(), 1000);
  const auto batch = [](std::size_t num_bytes, Lengths lengths) {
    return RecordBatch{
        .num_rows = 2, .columns = {Bytes(num_bytes), Bytes(16)}, .lengths = {std::move(lengths)}};
  };
  EXPECT_THROW(log.append(batch(3, {1, 1})), Error);   // too many bytes
  EXPECT_THROW(log.append(batch(3, {1, 3})), Error);   // too few
  EXPECT_THROW(log.append(batch(3, {3})), Error);      // a length is missing
  EXPECT_THROW(log.append(batch(3, {4, -1})), Error);  // a negative one
  EXPECT_THROW(log.append({.num_rows = 2, .columns = {Bytes(2), Bytes(16)}}), Error);
  EXPECT_EQ(log.num_rows(), 0);
  log.append(batch(3, {1, 2}));
  Bytes out(8);
  const auto room = std::span(out);
  EXPECT_THROW(log.read(0, 0, 1, room.first(1)), Error);
  EXPECT_THROW(log.read_lengths(1, 0, 1, room), Error);
  EXPECT_THROW(log.read_elements(1, 0, 1, room), Error);
  EXPECT_THROW(log.read_lengths(0, 2, 1, room), Error);
  EXPECT_THROW(log.read_lengths(0, 0, 1, room.first(1)), Error);
  EXPECT_THROW(log.read_elements(0, 3, 1, room.first(1)), Error);
  EXPECT_NO_THROW(log.read_elements(0, 2, 1, room.first(1)));
  EXPECT_THROW((void)log.num_elements(1), Error);
}

}  // namespace
}  // namespace tally::predictions
