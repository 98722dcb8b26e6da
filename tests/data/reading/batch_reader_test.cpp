// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/data/batch_reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

struct Slots {
  Slots(const DataSetInfo& info, std::int64_t batch_size, std::size_t count)
      : memory(count, std::vector<std::byte>(to_size(slot_bytes(info, batch_size)))) {}
  std::vector<std::span<std::byte>> spans() { return {memory.begin(), memory.end()}; }
  std::vector<std::vector<std::byte>> memory;
};

void expect_batch(const Batch& batch, const SampleFile& sample, const plan::BatchGrid& grid) {
  ASSERT_EQ(batch.inputs.size(), 1U);
  ASSERT_EQ(batch.targets.size(), 1U);
  const TensorView& image = batch.inputs[0];
  EXPECT_EQ(image.shape, (Shape{grid.batch_size(), sample.height, sample.width, 3}));
  EXPECT_EQ(image.dtype, DType::u8);
  EXPECT_EQ(batch.targets[0].shape, Shape{grid.batch_size()});
  const auto images = sample.images();
  const auto labels = sample.labels();
  const auto first = to_size(batch.samples.first), count = to_size(batch.samples.count);
  const std::size_t row = to_size(sample.row_bytes());
  EXPECT_EQ(std::memcmp(image.as<std::byte>(), images.data() + first * row, count * row), 0);
  EXPECT_EQ(std::memcmp(batch.targets[0].as<std::byte>(), labels.data() + first, count * 8), 0);
  for (std::size_t i = count; i < to_size(grid.batch_size()); ++i) {  // padding
    EXPECT_EQ(batch.targets[0].as<std::int64_t>()[i], 0);
    const auto* pixels = image.as<std::uint8_t>() + i * row;
    EXPECT_TRUE(std::all_of(pixels, pixels + row, [](std::uint8_t p) { return p == 0; }));
  }
}

// Batch size, number of slots, rows per checksum block, storage, threads.
class ReadBatches : public testing::TestWithParam<
                        std::tuple<std::int64_t, std::size_t, std::int64_t, SampleStorage, int>> {};

TEST_P(ReadBatches, EverySliceGivesItsBatchesInOrder) {
  const auto [batch_size, num_slots, rows_per_block, storage, threads] = GetParam();
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 53, .rows_per_block = rows_per_block, .storage = storage};
  sample.write(folder / "a.h5");
  const plan::BatchGrid grid(53, batch_size);
  std::int64_t samples = 0;
  for (int rank = 0; rank < 3; ++rank) {
    DataSet data_set(folder / "a.h5");
    Slots slots(data_set.info(), batch_size, num_slots);
    const plan::BatchRange slice = grid.slice_of(rank, 3);
    BatchReader reader(data_set, grid, slice, slots.spans(), {.threads = threads, .held = 1});
    for (std::int64_t k = slice.first; k < slice.end(); ++k) {
      const Batch* batch = reader.next();
      ASSERT_NE(batch, nullptr);
      EXPECT_EQ(batch->index, k);
      EXPECT_EQ(batch->samples.first, grid.samples_of(k).first);
      EXPECT_EQ(batch->samples.count, grid.samples_of(k).count);
      expect_batch(*batch, sample, grid);
      samples += batch->samples.count;
    }
    EXPECT_EQ(reader.next(), nullptr);
    EXPECT_EQ(reader.next(), nullptr);
    EXPECT_GE(reader.wait_s(), 0.0);
    EXPECT_EQ(reader.read_s() > 0.0, slice.count > 0);
  }
  EXPECT_EQ(samples, 53);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReadBatches,
                         testing::Combine(testing::Values(1, 7, 16, 53, 64),
                                          testing::Values(2, 3, 8), testing::Values(0, 5, 64),
                                          testing::Values(SampleStorage::contiguous,
                                                          SampleStorage::deflated),
                                          testing::Values(1, 2, 5)));

// Chunks and blocks of many batches: each is read by whoever comes first, and by nobody else.
TEST(ReadShared, BlocksThatManyBatchesShareAreReadOnce) {
  const raw::TemporaryFolder folder;
  const SampleFile sample{.num_samples = 128, .rows_per_block = 64};
  sample.write(folder / "a.h5");
  const plan::BatchGrid grid(128, 4);
  for (const int threads : {1, 2, 5}) {
    DataSet data_set(folder / "a.h5");
    Slots slots(data_set.info(), 4, 8);
    BatchReader reader(data_set, grid, {0, 32}, slots.spans(), {.threads = threads, .held = 1});
    while (const Batch* batch = reader.next()) expect_batch(*batch, sample, grid);
    EXPECT_EQ(data_set.bytes_read(), 128 * (sample.row_bytes() + 8)) << threads;
  }
}

class Reading : public testing::Test {
 protected:
  Reading() { sample_.write(folder_ / "a.h5"); }

  raw::TemporaryFolder folder_;
  SampleFile sample_{.num_samples = 40, .rows_per_block = 4};
  plan::BatchGrid grid_{40, 4};
};

TEST_F(Reading, AnEmptySliceHasNoBatch) {
  DataSet data_set(folder_ / "a.h5");
  Slots slots(data_set.info(), 4, 2);
  BatchReader reader(data_set, grid_, {10, 0}, slots.spans());
  EXPECT_EQ(reader.next(), nullptr);
}

TEST_F(Reading, ABatchStaysUntouchedUntilTheNextIsTaken) {
  DataSet data_set(folder_ / "a.h5");
  Slots slots(data_set.info(), 4, 2);
  BatchReader reader(data_set, grid_, {0, 10}, slots.spans());
  const Batch* first = reader.next();
  const auto* pixels = first->inputs[0].as<std::uint8_t>();
  const std::vector<std::uint8_t> before(pixels, pixels + 4 * 36);
  // By now the thread has filled the other slot and waits; the tensors may be used at leisure.
  const Batch* second = reader.next();
  EXPECT_NE(first, second);
  EXPECT_NE(second->inputs[0].data, pixels);
  const auto images = sample_.images();
  EXPECT_TRUE(std::ranges::equal(before, std::span(images).first(before.size())));
}

TEST_F(Reading, ItCanBeLeftAtAnyMoment) {
  for (int taken = 0; taken <= 10; ++taken) {
    DataSet data_set(folder_ / "a.h5");
    Slots slots(data_set.info(), 4, 2);
    BatchReader reader(data_set, grid_, {0, 10}, slots.spans(), {.threads = 1 + taken % 3});
    for (int i = 0; i < taken; ++i) ASSERT_NE(reader.next(), nullptr);
  }
}

TEST_F(Reading, AFailureComesAfterTheBatchesBeforeIt) {
  raw::edit(folder_ / "a.h5", [&](hid_t file) {
    raw::remove(file, "/targets/label");
    raw::remove(file, "/checksums/targets/label");
    auto labels = sample_.labels();
    labels[22] = 99;  // in batch 5
    labels[25] = 98;
    labels[39] = 97;
    raw::dataset(file, "/targets/label", H5T_STD_I64LE, {40}, labels.data());
  });
  for (const auto& [num_slots, threads] : {std::pair(2U, 1), std::pair(5U, 1), std::pair(20U, 1),
                                           std::pair(2U, 2), std::pair(5U, 5), std::pair(20U, 5)}) {
    DataSet data_set(folder_ / "a.h5");
    Slots slots(data_set.info(), 4, num_slots);
    BatchReader reader(data_set, grid_, {0, 10}, slots.spans(), {.threads = threads, .held = 1});
    for (int k = 0; k < 5; ++k) {
      const Batch* batch = reader.next();
      ASSERT_NE(batch, nullptr);
      EXPECT_EQ(batch->index, k);
    }
    for (int again = 0; again < 2; ++again) {
      expect_error(ErrorKind::dataset, {"/targets/label[22] = 99, expected 0..4"},
                   [&] { reader.next(); });
    }
  }
}

TEST_F(Reading, AFailureNobodyAsksForEndsQuietly) {
  raw::edit(folder_ / "a.h5", [&](hid_t file) {
    const hid_t id = raw::ok(H5Dopen2(file, "/checksums/inputs/image", H5P_DEFAULT));
    const std::vector<std::uint32_t> wrong(10, 1);
    raw::ok(H5Dwrite(id, H5T_STD_U32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, wrong.data()));
    H5Dclose(id);
  });
  DataSet data_set(folder_ / "a.h5");
  Slots slots(data_set.info(), 4, 2);
  EXPECT_NO_THROW(BatchReader(data_set, grid_, {0, 10}, slots.spans()));
}

TEST_F(Reading, TensorsAreAlignedInTheSlot) {
  DataSet data_set(folder_ / "a.h5");
  EXPECT_EQ(slot_bytes(data_set.info(), 4), 192 + 64);  // 4 * 36 and 4 * 8, each to 64
  Slots slots(data_set.info(), 4, 2);
  BatchReader reader(data_set, grid_, {0, 1}, slots.spans());
  const Batch* batch = reader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->targets[0].as<std::byte>() - batch->inputs[0].as<std::byte>(), 192);
}

TEST_F(Reading, WrongSlotsAndSlicesAreDefectsOfTheCaller) {
  DataSet data_set(folder_ / "a.h5");
  Slots slots(data_set.info(), 4, 2);
  const auto refused = [&](plan::BatchRange slice, std::vector<std::span<std::byte>> spans) {
    expect_error(ErrorKind::internal, {},
                 [&] { BatchReader reader(data_set, grid_, slice, std::move(spans)); });
  };
  refused({0, 10}, {slots.spans()[0]});
  expect_error(ErrorKind::internal, {"a thread"}, [&] {
    BatchReader reader(data_set, grid_, {0, 10}, slots.spans(), {.threads = 0, .held = 1});
  });
  refused({0, 10}, {slots.spans()[0], slots.spans()[1].first(255)});
  refused({0, 11}, slots.spans());
  refused({-1, 2}, slots.spans());
  expect_error(ErrorKind::dataset, {"/inputs/image", "--batch-size"},
               [&] { slot_bytes(data_set.info(), std::int64_t{1} << 60); });
}

}  // namespace
}  // namespace tally::data
