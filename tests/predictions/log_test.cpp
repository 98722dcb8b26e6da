// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/prediction_log.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include <tally/base/error.hpp>

#include "limited_child.hpp"
#include "spillable_column.hpp"
#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

using testing::HasSubstr;

const std::vector<ColumnSpec> kSpecs{{"index", DType::i64, {}},
                                     {"confidence", DType::f32, {}},
                                     {"topk", DType::i32, {5}},
                                     {"mask", DType::u8, {3, 1}},
                                     {"nothing", DType::f32, {0}}};

// A log and what it should hold.
class LogAndOracle {
 public:
  LogAndOracle(const std::filesystem::path& folder, std::int64_t memory_bytes, unsigned seed)
      : log(kSpecs, folder, memory_bytes), columns(kSpecs.size()), random(seed) {}

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }

  void append(std::int64_t num_rows) {
    RecordBatch batch{.num_rows = num_rows, .columns = {}};
    for (std::size_t c = 0; c < kSpecs.size(); ++c) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(num_rows * kSpecs[c].row_bytes()));
      for (auto& byte : bytes) byte = static_cast<std::byte>(random());
      columns[c].insert(columns[c].end(), bytes.begin(), bytes.end());
      batch.columns.push_back(std::move(bytes));
    }
    log.append(batch);
    num_rows_ += num_rows;
  }

  void expect_rows(const PredictionLog& held, std::int64_t first, std::int64_t count) const {
    for (std::size_t c = 0; c < kSpecs.size(); ++c) {
      const std::int64_t width = kSpecs[c].row_bytes();
      std::vector<std::byte> got(static_cast<std::size_t>(count * width));
      held.read(static_cast<std::int64_t>(c), first, count, got);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), columns[c].begin() + first * width))
          << kSpecs[c].name << ": " << first << " + " << count;
    }
  }

  void expect_random_rows() {
    for (int i = 0; i < 20; ++i) {
      const std::int64_t first = draw(0, num_rows_);
      expect_rows(log, first, draw(0, num_rows_ - first));
    }
    expect_rows(log, 0, num_rows_);
  }

  PredictionLog log;
  std::vector<std::vector<std::byte>> columns;
  std::mt19937 random;

 private:
  std::int64_t num_rows_ = 0;
};

constexpr std::int64_t kRowBytes = 8 + 4 + 20 + 3;

TEST(PredictionLog, HoldsRowsInMemoryUpToItsBound) {
  const TemporaryFolder folder;
  LogAndOracle both(folder.path(), 10 * kRowBytes, 1);

  both.append(4);
  both.append(6);

  EXPECT_EQ(both.log.spilled_bytes(), 0);
  EXPECT_EQ(both.log.num_rows(), 10);
  EXPECT_EQ(both.log.columns(), kSpecs);
  both.expect_random_rows();

  both.append(1);

  EXPECT_EQ(both.log.spilled_bytes(), 10 * kRowBytes);
  both.expect_random_rows();
}

TEST(PredictionLog, RandomAppendsAndReadsEqualTheOracle) {
  const TemporaryFolder folder;
  for (unsigned seed = 0; seed < 30; ++seed) {
    LogAndOracle both(folder.path(), seed % 3 == 0 ? 0 : seed * 37, seed);
    for (int i = 0; i < 30; ++i) {
      both.append(both.draw(0, 2) == 0 ? 0 : both.draw(0, 25));
      if (i % 7 == 0) both.expect_random_rows();
    }
    both.expect_random_rows();
    EXPECT_GT(both.log.spilled_bytes(), 0);
    EXPECT_TRUE(folder.is_empty()) << "the spill file has a name";
  }
}

TEST(PredictionLog, AnEmptyLogHasNoRows) {
  const PredictionLog log(kSpecs, "/nonexistent", 0);
  EXPECT_EQ(log.num_rows(), 0);
  log.read(0, 0, 0, {});
}

TEST(PredictionLog, KeepsItsRowsWhenMoved) {
  const TemporaryFolder folder;
  LogAndOracle both(folder.path(), 3 * kRowBytes, 5);
  for (int i = 0; i < 5; ++i) both.append(2);

  const PredictionLog moved = std::move(both.log);

  EXPECT_EQ(moved.num_rows(), 10);
  both.expect_rows(moved, 0, 10);
}

TEST(PredictionLog, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  PredictionLog log({{"a", DType::f32, {}}}, folder.path(), 100);
  const auto bytes = [](std::size_t n) { return std::vector<std::byte>(n); };
  EXPECT_THROW(log.append({.num_rows = 1, .columns = {}}), Error);
  EXPECT_THROW(log.append({.num_rows = 2, .columns = {bytes(4)}}), Error);
  log.append({.num_rows = 2, .columns = {bytes(8)}});
  auto out = bytes(4);
  EXPECT_THROW(log.read(1, 0, 1, out), Error);
  EXPECT_THROW(log.read(0, 2, 1, out), Error);
  EXPECT_THROW(log.read(0, -1, 1, out), Error);
  EXPECT_THROW(log.read(0, 0, 2, out), Error);
}

TEST(PredictionLog, AFolderThatIsNotThereIsNamed) {
  PredictionLog log({{"a", DType::u8, {}}}, "/nonexistent/spill", 0);
  try {
    log.append({.num_rows = 1, .columns = {std::vector<std::byte>(1)}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_THAT(error.what(), HasSubstr("'/nonexistent/spill'"));
    EXPECT_THAT(error.what(), HasSubstr("--spill-dir"));
    EXPECT_THAT(error.what(), HasSubstr("No such file or directory"));
  }
}

TEST(PredictionLog, AFullDiskIsAnOutputError) {
  const TemporaryFolder folder;
  const auto fill = [&] {
    PredictionLog log({{"a", DType::f64, {}}}, folder.path(), 800);
    for (int i = 0; i < 10; ++i) {
      log.append({.num_rows = 100, .columns = {std::vector<std::byte>(800)}});
    }
  };
  EXPECT_EQ(outcome_with_file_limit(1 << 20, fill), kNoError);
  EXPECT_EQ(outcome_with_file_limit(7000, fill), exit_code(ErrorKind::output));
  EXPECT_EQ(outcome_with_file_limit(0, fill), exit_code(ErrorKind::output));
  EXPECT_TRUE(folder.is_empty());
}

}  // namespace
}  // namespace tally::predictions
