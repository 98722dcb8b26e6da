// SPDX-License-Identifier: Apache-2.0
// From the ranks' logs to one file: spilling, windows and ragged rows together.
#include "gather_predictions.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/comm/agree.hpp>
#include <tally/hdf5/reader.hpp>

#include "comm_fixture.hpp"
#include "publish_predictions.hpp"

namespace tally::app {
namespace {

using predictions::ColumnSpec;
using predictions::PredictionLog;
using predictions::RecordBatch;
using Lengths = std::vector<std::int64_t>;

const std::vector<ColumnSpec> kSpecs{{"answer", DType::u8, {}, true},
                                     {"index", DType::i64, {}},
                                     {"boxes", DType::f32, {4}, true},
                                     {"score", DType::f64, {}}};

// The same on every rank, because every rank draws it with the same seed.
struct Case {
  Lengths rows_per_rank;
  Lengths answers;  // bytes of each row
  Lengths boxes;    // of each row
  std::int64_t memory_bytes = 0;
  std::int64_t window_bytes = 0;

  std::int64_t num_rows() const { return std::ssize(answers); }
  static std::int64_t sum(const Lengths& values, std::int64_t count) {
    return std::accumulate(values.begin(), values.begin() + count, std::int64_t{0});
  }
};

Case random_case(std::mt19937_64& random, std::int64_t num_ranks) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Case drawn;
  for (std::int64_t r = 0; r < num_ranks; ++r) {
    drawn.rows_per_rank.push_back(draw(0, 2) == 0 ? 0 : draw(0, 30));
  }
  const std::int64_t longest = draw(0, 3) == 0 ? 0 : 30;
  for (std::int64_t i = Case::sum(drawn.rows_per_rank, num_ranks); i > 0; --i) {
    drawn.answers.push_back(draw(0, 3) == 0 ? 0 : draw(0, longest));
    drawn.boxes.push_back(draw(0, 2));
  }
  drawn.memory_bytes = draw(0, 600);
  drawn.window_bytes = draw(1, 200);
  if (drawn.num_rows() > 0) {  // larger than any window
    drawn.answers[static_cast<std::size_t>(draw(0, drawn.num_rows() - 1))] = 1000;
  }
  return drawn;
}

// A byte of the answers, a box, as a function of its place.
std::uint8_t answer_byte(std::int64_t at) { return static_cast<std::uint8_t>(at * at % 251); }
float box_side(std::int64_t at) { return static_cast<float>(at) / 3; }

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// What all rows before `row` have.
template <class T, class Value>
std::vector<T> elements(const Lengths& lengths, std::int64_t first, std::int64_t count,
                        std::int64_t width, const Value& value) {
  std::vector<T> all;
  const std::int64_t end = Case::sum(lengths, first + count) * width;
  for (std::int64_t at = Case::sum(lengths, first) * width; at < end; ++at) {
    all.push_back(value(at));
  }
  return all;
}

RecordBatch batch_of(const Case& drawn, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  const std::vector<double> scores(indices.begin(), indices.end());
  const auto lengths = [&](const Lengths& all) {
    return Lengths(all.begin() + first, all.begin() + first + count);
  };
  return {.num_rows = count,
          .columns = {bytes_of(elements<std::uint8_t>(drawn.answers, first, count, 1, answer_byte)),
                      bytes_of(indices),
                      bytes_of(elements<float>(drawn.boxes, first, count, 4, box_side)),
                      bytes_of(scores)},
          .lengths = {lengths(drawn.answers), {}, lengths(drawn.boxes), {}}};
}

Lengths offsets_of(const Lengths& lengths) {
  Lengths offsets{0};
  std::partial_sum(lengths.begin(), lengths.end(), std::back_inserter(offsets));
  return offsets;
}

class GatherColumnsTest : public comm::CommTest {
 protected:
  PredictionLog log_of(const Case& drawn) {
    PredictionLog log(kSpecs, testing::TempDir(), drawn.memory_bytes);
    std::int64_t first = Case::sum(drawn.rows_per_rank, rank());
    const std::int64_t end = Case::sum(drawn.rows_per_rank, rank() + 1);
    for (std::int64_t count = 0; first < end; first += count) {
      count = std::min<std::int64_t>(7, end - first);
      log.append(batch_of(drawn, first, count));
    }
    return log;
  }
};

void expect_file(const std::filesystem::path& path, const Case& drawn) {
  const hdf5::Reader reader(path);
  const std::int64_t n = drawn.num_rows();
  EXPECT_EQ(reader.dataset("/answer/offsets").read_all<std::int64_t>(), offsets_of(drawn.answers));
  EXPECT_EQ(reader.dataset("/answer/values").read_all<std::uint8_t>(),
            elements<std::uint8_t>(drawn.answers, 0, n, 1, answer_byte));
  EXPECT_EQ(reader.dataset("/boxes/offsets").read_all<std::int64_t>(), offsets_of(drawn.boxes));
  EXPECT_EQ(reader.dataset("/boxes/values").read_all<float>(),
            elements<float>(drawn.boxes, 0, n, 4, box_side));
  std::vector<std::int64_t> indices(static_cast<std::size_t>(n));
  std::iota(indices.begin(), indices.end(), 0);
  EXPECT_EQ(reader.dataset("/index").read_all<std::int64_t>(), indices);
  EXPECT_EQ(reader.dataset("/score").read_all<double>(),
            std::vector<double>(indices.begin(), indices.end()));
}

TEST_F(GatherColumnsTest, EveryRowArrivesInOrderWhateverTheWindow) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("gather-columns-" + world().broadcast(std::to_string(::getpid())) + ".h5");
  std::mt19937_64 random(11);
  for (int round = 0; round < 25; ++round) {
    const Case drawn = random_case(random, size());
    const PredictionLog log = log_of(drawn);
    auto writer = gather_columns(world(), log, drawn.num_rows(), drawn.window_bytes, path);
    EXPECT_EQ(writer.has_value(), world().is_root());
    if (!writer) continue;
    SCOPED_TRACE(round);
    publish(*writer);
    expect_file(path, drawn);
    std::filesystem::remove(path);
  }
}

TEST_F(GatherColumnsTest, AFailureToWriteIsAgreedOn) {
  Case drawn;
  drawn.rows_per_rank.assign(static_cast<std::size_t>(size()), 2);
  drawn.answers.assign(static_cast<std::size_t>(2 * size()), 5);
  drawn.boxes.assign(static_cast<std::size_t>(2 * size()), 1);
  const PredictionLog log = log_of(drawn);
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("gather-failure-" + world().broadcast(std::to_string(::getpid())) + ".h5");
  testing::internal::CaptureStderr();
  // The file is to have one row less.
  EXPECT_THROW(gather_columns(world(), log, drawn.num_rows() - 1, 64, path), comm::AgreedFailure);
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(std::filesystem::exists(partial_path(path)));
}

}  // namespace
}  // namespace tally::app
