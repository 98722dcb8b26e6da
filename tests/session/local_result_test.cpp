// SPDX-License-Identifier: Apache-2.0
// What a rank has before its loop, and how samples become units.
#include <tally/session/local_result.hpp>

#include <gmock/gmock.h>

#include <tally/base/checked_cast.hpp>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using predictions::ColumnSpec;

const std::vector<ColumnSpec> kIndices{{"index", DType::i64, {}}};
const std::vector<ColumnSpec> kTexts{{"text", DType::u8, {}, true}};

// Ten samples in three batches of four, four and two.
class LocalResultTest : public SessionFixture {
 protected:
  static void append_index(predictions::PredictionLog& log, std::int64_t index) {
    predictions::RecordBatch batch{.num_rows = 1, .columns = {{}}};
    const auto bytes = std::as_bytes(std::span(&index, 1));
    batch.columns[0].assign(bytes.begin(), bytes.end());
    log.append(batch);
  }
  static std::int64_t index_in(const predictions::PredictionLog& log) {
    std::int64_t index = 0;
    log.read(0, 0, 1, std::as_writable_bytes(std::span(&index, 1)));
    return index;
  }
};

TEST_F(LocalResultTest, RowsBeginWithTheSliceOfTheRank) {
  // By world size: where ranks have no batch, they begin at the end.
  const std::map<std::int64_t, std::vector<std::int64_t>> first_of{
      {1, {0}}, {2, {0, 8}}, {3, {0, 4, 8}}, {5, {0, 4, 8, 10, 10}}};
  const auto session = open(data::SampleFile{});
  const auto samples = empty_samples(session, kIndices, kTexts);
  EXPECT_EQ(samples.first_index, first_of.at(size()).at(to_size(rank())));
}

TEST_F(LocalResultTest, NothingIsCountedOrRecordedAtFirst) {
  const auto session = open(data::SampleFile{});
  const auto samples = empty_samples(session, kIndices, kTexts);
  EXPECT_THAT(samples.state.values(), testing::Each(0));
  EXPECT_EQ(samples.state.layout().description(), session.scoring.task->layout()->description());
  EXPECT_EQ(samples.log.columns(), kIndices);
  EXPECT_EQ(samples.retained.columns(), kTexts);
  EXPECT_EQ(samples.log.num_rows() + samples.retained.num_rows(), 0);
  EXPECT_EQ(samples.loop.stats.samples, 0);
  EXPECT_FALSE(samples.loop.energy_j.has_value());
}

TEST_F(LocalResultTest, UnitsTakeOverWhatTheLoopCounted) {
  const auto session = open(data::SampleFile{});
  auto samples = empty_samples(session, {}, kTexts);
  samples.state.values()[0] = 7 + rank();
  samples.loop.stats.samples = 3;
  samples.loop.stats.not_finite.add(41);
  samples.loop.bytes_read = 99;
  auto records = empty_log(session, kIndices);
  append_index(records, 5);
  const auto units =
      units_of(samples, std::move(records), empty_log(session, {{"kept", DType::f32, {2}}}));
  EXPECT_EQ(units.state.values()[0], 7 + rank());
  EXPECT_EQ(units.first_index, samples.first_index);
  EXPECT_EQ(index_in(units.log), 5);
  EXPECT_EQ(units.retained.columns().at(0).name, "kept");
  EXPECT_EQ(units.loop.stats.samples, 3);
  EXPECT_THAT(units.loop.stats.not_finite.first_indices, testing::ElementsAre(41));
  EXPECT_EQ(units.loop.bytes_read, 99);
}

TEST_F(LocalResultTest, BySourceThatJoinsNothingEachSampleIsAUnit) {
  const auto session = open(data::SampleFile{});
  auto samples = empty_samples(session, kIndices, kTexts);
  samples.state.values()[0] = 11;
  append_index(samples.log, 1000 + rank());
  const auto first_index = samples.first_index;
  const auto units = session.source->complete(world(), session, std::move(samples));
  EXPECT_EQ(units.state.values()[0], 11);
  EXPECT_EQ(index_in(units.log), 1000 + rank());
  EXPECT_EQ(units.retained.columns(), kTexts);
  EXPECT_EQ(units.first_index, first_index);
  EXPECT_THAT(units.unit_samples, testing::IsEmpty());
  EXPECT_FALSE(units.texts.has_value());
  EXPECT_FALSE(units.detections.has_value());
  Notes notes;
  EXPECT_FALSE(session.source->match_ids(world(), session, notes).has_value());
  EXPECT_THAT(notes.all(), testing::IsEmpty());
}

TEST_F(LocalResultTest, RecordsThatOutgrowMemoryGoToTheSpillFolder) {
  config_.results.spill_dir = folder_ / "none";
  const auto session = open(data::SampleFile{});
  // A row that has no room in the 64 MiB of a log.
  constexpr std::int64_t kRowBytes = std::int64_t{65} << 20;
  auto log = empty_log(session, {{"pixels", DType::u8, {kRowBytes}}});
  predictions::RecordBatch batch{.num_rows = 1, .columns = {{}}};
  batch.columns[0].resize(to_size(kRowBytes));
  try {
    log.append(batch);
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_THAT(error.what(), testing::HasSubstr(folder_ / "none"));
  }
}

TEST_F(LocalResultTest, RetainedSamplesAreSeenWhereTheyLie) {
  const auto session = open(data::SampleFile{});
  const auto samples = empty_samples(session, kIndices, kTexts);
  const auto seen = retained_samples(session, samples);
  EXPECT_EQ(&seen.log, &samples.retained);
  EXPECT_EQ(seen.first_index, samples.first_index);
}

}  // namespace
}  // namespace tally::app
