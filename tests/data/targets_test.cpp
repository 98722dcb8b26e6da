// SPDX-License-Identifier: Apache-2.0
// Targets of binary, multilabel and regression: what is read, and which values are refused.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/describe_data_set.hpp>

#include "expect_error.hpp"
#include "sample_file.hpp"
#include "target_file.hpp"

namespace tally::data {
namespace {

class Targets : public testing::Test {
 protected:
  DataSet open(const TargetFile& file) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    return DataSet(path);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(Targets, EachTaskHasItsTypeAndShape) {
  const DataSet binary = open(binary_file({0, 1, 1}));
  EXPECT_EQ(binary.info().task, "binary");
  EXPECT_EQ(binary.info().num_classes, 2);
  EXPECT_EQ(binary.info().columns.targets[0].dtype, DType::i64);
  EXPECT_EQ(binary.info().columns.targets[0].row_shape, Shape{});

  const DataSet multilabel = open(multilabel_file(3, {0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(multilabel.info().task, "multilabel");
  EXPECT_EQ(multilabel.info().num_samples, 2);
  EXPECT_EQ(multilabel.info().num_classes, 3);
  EXPECT_EQ(multilabel.info().columns.targets[0].dtype, DType::u8);
  EXPECT_EQ(multilabel.info().columns.targets[0].row_shape, Shape{3});

  const DataSet regression = open(regression_file(2, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(regression.info().task, "regression");
  EXPECT_EQ(regression.info().num_samples, 3);
  EXPECT_EQ(regression.info().num_classes, 2);
  EXPECT_EQ(regression.info().columns.targets[0].dtype, DType::f32);
  EXPECT_EQ(regression.info().columns.targets[0].row_shape, Shape{2});
}

TEST_F(Targets, MayBeMasks) {
  DataSet masks = open(mask_file({0, 1, 255, 2}));
  EXPECT_EQ(masks.info().columns.targets[0].dtype, DType::i16);
  EXPECT_EQ(masks.info().columns.targets[0].row_shape, (Shape{1, 2}));
  verify(masks);
  for (const std::int16_t bad : std::vector<std::int16_t>{-1, 3, 254, 256}) {
    DataSet wrong = open(mask_file({0, 1, 255, bad}));
    expect_error(
        ErrorKind::dataset,
        {"/targets/label[1, 0, 1] = " + std::to_string(bad), "expected 0..2 or ignore_index 255"},
        [&] { verify(wrong); });
  }
  TargetFile flat = mask_file({0, 1, 255, 2});
  flat.dims = {2, 2};
  expect_error(ErrorKind::dataset, {"has shape [2, 2], expected [N, height, width]"},
               [&] { open(flat); });
  TargetFile wide = mask_file({0, 1});
  wide.type = H5T_STD_I8LE;
  expect_error(ErrorKind::dataset, {"holds int8, expected uint8, int16, int32, int64"},
               [&] { open(wide); });
}

TEST_F(Targets, CanBeLeftOut) {
  TargetFile file = binary_file({0, 5, 1});
  file.ignore_index = -1;
  const auto path = folder_ / "left_out";
  file.write(path);
  DataSet left_out(path, tally::data::Targets::left_out);
  EXPECT_EQ(left_out.info().task, "predict");
  EXPECT_EQ(left_out.info().num_samples, 3);
  EXPECT_EQ(left_out.info().num_classes, 0);
  EXPECT_TRUE(left_out.info().columns.targets.empty());
  EXPECT_FALSE(left_out.info().ignore_index);
  EXPECT_EQ(left_out.identity().size(), 64U);  // it has no checksums: the file is opened again
  EXPECT_EQ(verify(left_out).find("label"), std::string::npos);
}

TEST_F(Targets, NeedNotBeThere) {
  TargetFile file = binary_file({0, 1, 1});
  file.task = "predict";
  EXPECT_EQ(open(file).info().num_samples, 3);
  EXPECT_TRUE(open(file).info().columns.targets.empty());
}

TEST_F(Targets, OneOutputMayBeAColumnOrNot) {
  TargetFile file = regression_file(1, {1, 2, 3});
  EXPECT_EQ(open(file).info().columns.targets[0].row_shape, Shape{1});
  file.dims = {3};
  EXPECT_EQ(open(file).info().columns.targets[0].row_shape, Shape{});
}

TEST_F(Targets, OneOutputMayBeAMap) {
  TargetFile file = regression_file(1, {1, 2, NAN, 4, -5.5F, 6});
  file.dims = {1, 2, 3};
  DataSet map = open(file);
  EXPECT_EQ(map.info().columns.targets[0].row_shape, (Shape{2, 3}));
  EXPECT_NE(verify(map).find("targets finite or NaN"), std::string::npos);
  file.rows = bytes_of<float>({1, 2, 3, 4, INFINITY, 6});
  DataSet infinite = open(file);
  expect_error(ErrorKind::dataset,
               {"/targets/label[0, 1, 1] = inf, expected finite numbers or NaN (read)"},
               [&] { verify(infinite); });
  file.num_classes = 3;
  expect_error(ErrorKind::dataset, {"has shape [1, 2, 3], expected [N, 3] for 3 outputs"},
               [&] { open(file); });
}

TEST_F(Targets, OneLabelIsEnough) {
  EXPECT_EQ(open(multilabel_file(1, {0, 1})).info().num_classes, 1);
}

TEST_F(Targets, BatchesHoldThemAndArePadded) {
  DataSet data_set = open(multilabel_file(3, {0, 1, 1, 1, 0, 0, 0, 0, 1}));
  const plan::BatchGrid grid(3, 2);
  std::vector<std::vector<std::byte>> memory(
      3, std::vector<std::byte>(to_size(slot_bytes(data_set.info(), 2)), std::byte{7}));
  BatchReader reader(data_set, grid, {1, 1}, {memory.begin(), memory.end()});
  const Batch* batch = reader.next();
  ASSERT_NE(batch, nullptr);
  const TensorView& label = batch->targets[0];
  EXPECT_EQ(label.dtype, DType::u8);
  EXPECT_EQ(label.shape, (Shape{2, 3}));
  const auto* flags = label.as<const std::uint8_t>();
  EXPECT_EQ(std::vector(flags, flags + 6), (std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0}));
}

TEST_F(Targets, BinaryLabelsAreZeroOrOne) {
  DataSet data_set = open(binary_file({0, 1, 2, 0}));
  const ColumnInfo& label = data_set.info().columns.targets[0];
  EXPECT_NO_THROW(rows_of(data_set, label, 0, 2));
  expect_error(ErrorKind::dataset, {"/targets/label[2] = 2, expected 0..1 (read)"},
               [&] { rows_of(data_set, label, 1, 3); });
  TargetFile file = binary_file({0, 1, 255, 0});
  file.ignore_index = 255;
  DataSet ignoring = open(file);
  EXPECT_NO_THROW(rows_of(ignoring, ignoring.info().columns.targets[0], 0, 4));
}

// Every byte there is, with and without one that is ignored.
TEST_F(Targets, FlagsAreZeroOneOrIgnored) {
  for (const std::optional<std::int64_t> ignored : {std::optional<std::int64_t>(), {2}, {255}}) {
    std::vector<std::uint8_t> flags(256);
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = static_cast<std::uint8_t>(i);
    TargetFile file = multilabel_file(1, flags);
    file.ignore_index = ignored;
    DataSet data_set = open(file);
    const ColumnInfo& label = data_set.info().columns.targets[0];
    for (std::int64_t row = 0; row < 256; ++row) {
      if (row <= 1 || row == ignored) {
        EXPECT_NO_THROW(rows_of(data_set, label, row, 1)) << row;
      } else {
        const std::string also = ignored ? " or ignore_index " + std::to_string(*ignored) : "";
        const std::string value = std::to_string(row);
        expect_error(ErrorKind::dataset,
                     {"/targets/label[" + value + ", 0] = " + value + ", expected 0..1" + also},
                     [&] { rows_of(data_set, label, row, 1); });
      }
    }
  }
}

TEST_F(Targets, AFlagIsNamedByRowAndLabel) {
  DataSet data_set = open(multilabel_file(3, {0, 1, 1, 1, 0, 0, 0, 9, 1}));
  const ColumnInfo& label = data_set.info().columns.targets[0];
  EXPECT_NO_THROW(rows_of(data_set, label, 0, 2));
  expect_error(ErrorKind::dataset, {"/targets/label[2, 1] = 9, expected 0..1 (read)", "inspect"},
               [&] { rows_of(data_set, label, 1, 2); });
  std::vector<std::byte> out(9);
  EXPECT_NO_THROW(data_set.read_rows(label, 0, 3, out, RowCheck::checksums_only));
}

TEST_F(Targets, ValuesMustBeFinite) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> finite{0.0F, -0.0F, Limits::max(), Limits::lowest(),
                                  Limits::denorm_min()};
  DataSet good = open(regression_file(1, finite));
  const auto rows = rows_of(good, good.info().columns.targets[0], 0, 5);
  EXPECT_EQ(rows, bytes_of(finite));

  const std::pair<float, const char*> bad[] = {{Limits::infinity(), "inf"},
                                               {-Limits::infinity(), "-inf"},
                                               {Limits::quiet_NaN(), "nan"},
                                               {std::bit_cast<float>(0x7f800001U), "nan"},
                                               {std::bit_cast<float>(0xffffffffU), "nan"}};
  for (const auto& [value, text] : bad) {
    DataSet data_set = open(regression_file(2, {1, 2, 3, 4, 5, value}));
    const ColumnInfo& label = data_set.info().columns.targets[0];
    EXPECT_NO_THROW(rows_of(data_set, label, 0, 2));
    expect_error(ErrorKind::dataset,
                 {"/targets/label[2, 1] = ", text, ", expected finite numbers (read)"},
                 [&] { rows_of(data_set, label, 0, 3); });
  }
}

TEST_F(Targets, AValueWithoutAColumnIsNamedByItsRow) {
  TargetFile file = regression_file(1, {1, std::nanf(""), 3});
  file.dims = {3};
  DataSet data_set = open(file);
  expect_error(ErrorKind::dataset, {"/targets/label[1] = nan, expected finite numbers"},
               [&] { rows_of(data_set, data_set.info().columns.targets[0], 0, 3); });
}

TEST_F(Targets, CountForTheIdentity) {
  const auto identity = [&](const TargetFile& file) { return open(file).identity(); };
  EXPECT_EQ(identity(multilabel_file(2, {0, 1})), identity(multilabel_file(2, {0, 1})));
  EXPECT_NE(identity(multilabel_file(2, {0, 1})), identity(multilabel_file(2, {1, 1})));
  EXPECT_NE(identity(multilabel_file(2, {0, 1, 1, 0})), identity(multilabel_file(1, {0, 1, 1, 0})));
  TargetFile ignoring = multilabel_file(2, {0, 1});
  ignoring.ignore_index = 255;
  EXPECT_NE(identity(multilabel_file(2, {0, 1})), identity(ignoring));
  EXPECT_NE(identity(regression_file(1, {0.0F})), identity(regression_file(1, {-0.0F})));
  TargetFile as_classes = binary_file({0, 1});
  as_classes.task = "multiclass";
  EXPECT_NE(identity(binary_file({0, 1})), identity(as_classes));
}

TEST_F(Targets, GetChecksums) {
  for (const TargetFile& file : {binary_file({0, 1, 1}), multilabel_file(2, {0, 1, 1, 1}),
                                 regression_file(2, {1, 2, 3, 4})}) {
    file.write(folder_ / file.task);
    add_checksums(folder_ / file.task, folder_ / (file.task + " checked"));
    DataSet copy(folder_ / (file.task + " checked"));
    EXPECT_TRUE(copy.info().checksums.columns);
    EXPECT_EQ(rows_of(copy, copy.info().columns.targets[0], 0, copy.info().num_samples), file.rows);
  }
}

}  // namespace
}  // namespace tally::data
