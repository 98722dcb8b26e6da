// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>

#include <tally/base/error.hpp>

#include "expect_error.hpp"
#include "part_files.hpp"
#include "small_part.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;

RecordsReader written(SmallPart& part, const fs::path& folder, const RecordColumns& columns) {
  part.writer.write_now(part.progress());
  const auto progress = load_part(folder, {});
  EXPECT_TRUE(progress.has_value());
  return {folder, progress.value(), columns};
}

TEST(Records, AnyRangeIsReadAcrossFramesAndCutAtBothEnds) {
  const TemporaryFolder folder;
  const RecordColumns columns = all_sorts_of_columns();
  SmallPart part(folder.path(), columns);
  part.evaluate({20, 5});
  part.evaluate({5, 7});
  part.evaluate({12, 8});
  part.evaluate({40, 1});
  part.evaluate({41, 0});
  const auto reader = written(part, folder.path(), columns);
  for (std::int64_t first = 5; first < 25; ++first) {
    for (std::int64_t end = first; end <= 25; ++end) {
      expect_records(reader, columns, {first, end - first});
    }
  }
  EXPECT_EQ(expect_records(reader, columns, {5, 20}), 3);
  EXPECT_EQ(expect_records(reader, columns, {40, 1}), 1);
  EXPECT_EQ(expect_records(reader, columns, {0, 0}), 0);
}

TEST(Records, RowsNeedNotBeAppendedInOrder) {
  const TemporaryFolder folder;
  const RecordColumns columns = all_sorts_of_columns();
  SmallPart part(folder.path(), columns);
  const std::int64_t row = part.log_records({100, 30});
  for (const std::int64_t begin : {20, 0, 10}) {
    part.writer.append({100 + begin, 10}, part.log, part.retained, row + begin);
  }
  expect_records(written(part, folder.path(), columns), columns, {100, 30});
}

TEST(Records, EitherLogMayHaveNoColumns) {
  for (const bool is_log : {true, false}) {
    const TemporaryFolder folder;
    RecordColumns columns = all_sorts_of_columns();
    (is_log ? columns.log : columns.retained).clear();
    SmallPart part(folder.path(), columns);
    part.evaluate({0, 9});
    part.evaluate({9, 3});
    expect_records(written(part, folder.path(), columns), columns, {2, 9});
  }
}

TEST(Records, LogsWithoutColumnsNeedNoFile) {
  const TemporaryFolder folder;
  SmallPart part(folder.path(), {});
  part.evaluate({0, 9});
  EXPECT_TRUE(fs::is_empty(folder.path()));
  const auto reader = written(part, folder.path(), {});
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("attempt-1.rank-0.a.state"));
  reader.read({0, 9}, [](const auto&, const auto&) { FAIL() << "there is nothing to read"; });
}

TEST(Records, ManyRowsAreManyFrames) {
  const TemporaryFolder folder;
  const RecordColumns columns{.log = {{"label", DType::i64, {}}}};
  SmallPart part(folder.path(), columns);
  part.evaluate({0, 40000});
  EXPECT_EQ(expect_records(written(part, folder.path(), columns), columns, {1, 39998}), 3);
}

// Of the rows of 0 to 5 MiB some are larger than a frame should be.
TEST(Records, ALargeRowIsAFrameOfItsOwn) {
  const TemporaryFolder folder;
  const RecordColumns columns{.log = {{"text", DType::u8, {}, true}},
                              .retained = {{"label", DType::i64, {}}}};
  constexpr std::int64_t kLongest = std::int64_t{5} << 20;
  const predictions::RecordBatch label{.num_rows = 1, .columns = {{std::vector<std::byte>(8)}}};
  SmallPart part(folder.path(), columns);
  std::vector<std::int64_t> lengths{10, kLongest, 10, 10, kLongest / 2, kLongest / 2, 10};
  for (const std::int64_t length : lengths) {
    part.log.append({.num_rows = 1,
                     .columns = {std::vector<std::byte>(static_cast<std::size_t>(length))},
                     .lengths = {{length}}});
    part.retained.append(label);
  }
  part.writer.append({0, 7}, part.log, part.retained, 0);
  const auto reader = written(part, folder.path(), columns);
  std::vector<std::int64_t> rows_of_pieces, read_lengths;
  reader.read({0, 7}, [&](const auto& log, const auto& retained) {
    EXPECT_EQ(log.num_rows, retained.num_rows);
    rows_of_pieces.push_back(log.num_rows);
    read_lengths.insert(read_lengths.end(), log.lengths[0].begin(), log.lengths[0].end());
  });
  EXPECT_THAT(rows_of_pieces, testing::ElementsAre(1, 1, 3, 2));
  EXPECT_EQ(read_lengths, lengths);
}

TEST(Records, SamplesThatThePartLacksAreRefused) {
  const TemporaryFolder folder;
  const RecordColumns columns = all_sorts_of_columns();
  SmallPart part(folder.path(), columns);
  part.evaluate({10, 5});
  part.evaluate({16, 5});
  const auto reader = written(part, folder.path(), columns);
  const auto ignore = [](const auto&, const auto&) {};
  for (const plan::SampleRange samples : {plan::SampleRange{9, 2}, {14, 2}, {15, 1}, {20, 2}}) {
    expect_error(ErrorKind::output, {folder.path().string(), "lacks the records of sample"},
                 [&] { reader.read(samples, ignore); });
  }
}

TEST(Records, AFileThatChangedMeanwhileIsRefused) {
  const TemporaryFolder folder;
  const RecordColumns columns = all_sorts_of_columns();
  SmallPart part(folder.path(), columns);
  part.evaluate({0, 5});
  const auto reader = written(part, folder.path(), columns);
  const auto progress = load_part(folder.path(), {});
  const fs::path path = folder.path() / records_name({});
  const std::string bytes = bytes_of(path);
  const auto read_all = [&] { reader.read({0, 5}, [](const auto&, const auto&) {}); };
  for (std::size_t at = 40; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 64);
    put_bytes(path, changed);
    expect_error(ErrorKind::output, {path.string(), "was changed"}, read_all);
  }
  put_bytes(path, bytes.substr(0, bytes.size() - 1));
  expect_error(ErrorKind::output, {path.string(), "was changed"}, read_all);
  put_bytes(path, bytes.substr(0, 20));
  expect_error(ErrorKind::output, {path.string(), "was changed"},
               [&] { RecordsReader(folder.path(), progress.value(), columns); });
  fs::remove(path);
  expect_error(ErrorKind::output, {path.string(), "No such file"},
               [&] { RecordsReader(folder.path(), progress.value(), columns); });
}

TEST(Records, OtherColumnsThanWereWrittenAreRefused) {
  const TemporaryFolder folder;
  const RecordColumns columns = all_sorts_of_columns();
  SmallPart part(folder.path(), columns);
  part.evaluate({0, 5});
  const auto reader = written(part, folder.path(), columns);
  const auto progress = load_part(folder.path(), {}).value();
  std::vector<RecordColumns> others(4, columns);
  others[0].log.pop_back();
  others[1].retained.push_back({"more", DType::u8, {1 << 30}});
  std::swap(others[2].log, others[2].retained);
  others[3].log[0].ragged = true;  // labels become lengths, which are too large or negative
  for (const RecordColumns& other : others) {
    const RecordsReader wrong(folder.path(), progress, other);
    EXPECT_THROW(wrong.read({0, 5}, [](const auto&, const auto&) {}), Error);
  }
  SmallPart unlike(folder.path(), {.log = {{"label", DType::f64, {}}}}, {.attempt = 2});
  expect_error(ErrorKind::internal, {"other columns"}, [&] {
    unlike.writer.append({0, 1}, part.log, part.retained, 0);
  });
}

}  // namespace
}  // namespace tally::resume
