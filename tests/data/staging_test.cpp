// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

std::vector<std::vector<std::byte>> all_columns_of(DataSet& data_set, std::int64_t first,
                                                   std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  return {rows_of(data_set, info.columns.inputs[0], first, count),
          rows_of(data_set, info.columns.targets[0], first, count),
          rows_of(data_set, info.columns.groups[0], first, count)};
}

// Rows per checksum block, storage.
class Staged : public testing::TestWithParam<std::tuple<std::int64_t, SampleStorage>> {
 protected:
  Staged() {
    const auto [rows_per_block, storage] = GetParam();
    SampleFile{.num_samples = 131, .rows_per_block = rows_per_block, .storage = storage}.write(
        folder_ / "a.h5");
    std::filesystem::create_directory(folder_ / "disk");
  }
  raw::TemporaryFolder folder_;
};

TEST_P(Staged, RowsComeFromTheCopy) {
  DataSet original(folder_ / "a.h5");
  DataSet data_set(folder_ / "a.h5");
  const std::int64_t announced = data_set.staged_bytes({30, 45});
  EXPECT_EQ(data_set.stage({30, 45}, folder_ / "disk"), announced);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "disk"));
  EXPECT_EQ(all_columns_of(data_set, 30, 45), all_columns_of(original, 30, 45));
  EXPECT_EQ(all_columns_of(data_set, 0, 131), all_columns_of(original, 0, 131));  // not only there
  const auto expected = all_columns_of(original, 33, 40);
  // What is not in the copy is gone now.
  std::filesystem::resize_file(folder_ / "a.h5", 512);
  EXPECT_EQ(all_columns_of(data_set, 33, 40), expected);
  const auto [rows_per_block, storage] = GetParam();
  if (storage != SampleStorage::contiguous || rows_per_block == 1000) return;
  expect_error(ErrorKind::dataset, {"a.h5' changed while it was read: 512 bytes"},
               [&] { rows_of(data_set, data_set.info().columns.inputs[0], 110, 20); });
}

TEST_P(Staged, ThreadsReadFromTheCopy) {
  DataSet original(folder_ / "a.h5");
  DataSet data_set(folder_ / "a.h5");
  const plan::BatchGrid grid(131, 7);
  data_set.stage(grid.samples_of({2, 10}), folder_ / "disk");
  const auto expected = all_columns_of(original, 14, 70);
  std::filesystem::resize_file(folder_ / "a.h5", 512);
  std::vector<std::vector<std::byte>> memory(
      5, std::vector<std::byte>(to_size(slot_bytes(data_set.info(), 7))));
  BatchReader reader(data_set, grid, {2, 10}, {memory.begin(), memory.end()},
                     {.threads = 3, .held = 1});
  std::int64_t row = 0;
  while (const Batch* batch = reader.next()) {
    const std::span image(batch->inputs[0].as<std::byte>(), 7 * 36);
    EXPECT_TRUE(
        std::ranges::equal(image, std::span(expected[0]).subspan(to_size(row * 36), 7 * 36)));
    row += 7;
  }
  EXPECT_EQ(row, 70);
}

INSTANTIATE_TEST_SUITE_P(BlocksAndStorage, Staged,
                         testing::Combine(testing::Values(0, 5, 1000),
                                          testing::Values(SampleStorage::contiguous,
                                                          SampleStorage::chunked,
                                                          SampleStorage::deflated)));

TEST(StagedBytes, AreThoseOfTheRowsWithWholeBlocks) {
  const raw::TemporaryFolder folder;
  SampleFile{.num_samples = 131, .rows_per_block = 5}.write(folder / "blocks.h5");
  SampleFile{.num_samples = 131}.write(folder / "plain.h5");
  const std::int64_t row = 36 + 8 + 4;
  DataSet blocks(folder / "blocks.h5"), plain(folder / "plain.h5");
  EXPECT_EQ(plain.staged_bytes({33, 10}), 10 * row);
  EXPECT_EQ(blocks.staged_bytes({33, 10}), 15 * row);  // 30 to 44
  EXPECT_EQ(blocks.staged_bytes({125, 6}), 6 * row);   // the last block is short
  EXPECT_EQ(blocks.staged_bytes({30, 0}), 0);
  EXPECT_EQ(blocks.stage({30, 0}, folder.path()), 0);
  EXPECT_EQ(plain.stage({0, 131}, folder.path()), 131 * row);
}

TEST(StagedBytes, OfCompressedChunksStayCompressed) {
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 64, .storage = SampleStorage::deflated};
  sample.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const hdf5::Reader file(folder / "a.h5");
  std::int64_t expected = 0;
  for (const char* path : {"/inputs/image", "/targets/label", "/groups/camera"}) {
    for (const std::int64_t chunk : {2, 3, 4}) {  // rows 8 to 19
      expected += file.dataset(path).raw_chunk_bytes(chunk);
    }
  }
  EXPECT_EQ(data_set.staged_bytes({9, 8}), expected);
}

TEST(StagedFolder, ThatCannotTakeTheCopyIsNamed) {
  const raw::TemporaryFolder folder;
  SampleFile{}.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  expect_error(ErrorKind::output, {"'/proc/nowhere'", "cannot create the copy", "--stage"}, [&] {
    data_set.stage({0, 10}, "/proc/nowhere");
  });
}

}  // namespace
}  // namespace tally::data
