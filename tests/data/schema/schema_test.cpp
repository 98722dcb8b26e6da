// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/data/data_set.hpp>

#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

TEST(Schema, IsReadAsWritten) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  const DataSet data_set(folder / "a.h5");
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.path, folder / "a.h5");
  EXPECT_EQ(info.file_bytes, static_cast<std::int64_t>(std::filesystem::file_size(info.path)));
  EXPECT_EQ(info.task, "multiclass");
  EXPECT_EQ(info.num_samples, 10);
  EXPECT_EQ(info.num_classes, 5);
  EXPECT_FALSE(info.ignore_index);
  EXPECT_EQ(info.class_names,
            (std::vector<std::string>{"class0", "class1", "class2", "class3", "class4"}));
  EXPECT_TRUE(info.checksums.columns);

  ASSERT_EQ(info.columns.inputs.size(), 1U);
  const ColumnInfo& image = info.columns.inputs[0];
  EXPECT_EQ(image.path, "/inputs/image");
  EXPECT_EQ(image.name, "image");
  EXPECT_EQ(image.dtype, DType::u8);
  EXPECT_EQ(image.row_shape, (Shape{4, 3, 3}));
  EXPECT_EQ(image.row_bytes(), 36);
  EXPECT_EQ(image.rows_per_checksum, 4);
  ASSERT_TRUE(image.image);
  EXPECT_EQ(image.image->layout, "HWC");
  EXPECT_EQ(image.image->channels, "RGB");
  EXPECT_EQ(image.image->scale, 1.0 / 255);
  EXPECT_EQ(image.image->mean, (std::vector<double>{0.5, 0.25, 0.125}));
  EXPECT_EQ(image.image->std, (std::vector<double>{1.0, 2.0, 4.0}));

  ASSERT_EQ(info.columns.targets.size(), 1U);
  EXPECT_EQ(info.columns.targets[0].path, "/targets/label");
  EXPECT_EQ(info.columns.targets[0].dtype, DType::i64);
  EXPECT_FALSE(info.columns.targets[0].image);
  ASSERT_EQ(info.columns.groups.size(), 1U);
  EXPECT_EQ(info.columns.groups[0].name, "camera");
}

TEST(Schema, SeveralInputsComeInOrderOfName) {
  const raw::TemporaryFolder folder;
  SampleFile().write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) {
    const std::vector<float> values(10 * 2 * 4, 0.5F);
    raw::dataset(file, "/inputs/zoom", H5T_IEEE_F32LE, {10, 2, 4}, values.data());
    const std::vector<std::int64_t> ids(10, 3);
    raw::dataset(file, "/inputs/age", H5T_STD_I64LE, {10}, ids.data());
  });
  const DataSet data_set(folder / "a.h5");
  const auto& inputs = data_set.info().columns.inputs;
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].name, "age");
  EXPECT_EQ(inputs[0].row_shape, Shape{});
  EXPECT_EQ(inputs[0].row_bytes(), 8);
  EXPECT_EQ(inputs[1].name, "image");
  EXPECT_EQ(inputs[2].name, "zoom");
  EXPECT_EQ(inputs[2].row_shape, (Shape{2, 4}));
  EXPECT_FALSE(inputs[2].image);
  EXPECT_FALSE(data_set.info().checksums.columns);
}

TEST(Schema, InputsMayHaveAnyTypeThatTensorsHave) {
  const std::pair<hid_t, DType> types[] = {
      {H5T_STD_U8LE, DType::u8},   {H5T_STD_I8LE, DType::i8},   {H5T_STD_I16LE, DType::i16},
      {H5T_STD_I32LE, DType::i32}, {H5T_STD_I64LE, DType::i64}, {H5T_IEEE_F32LE, DType::f32},
      {H5T_IEEE_F64LE, DType::f64}};
  for (const auto& [stored, dtype] : types) {
    const raw::TemporaryFolder folder;
    SampleFile().write(folder / "a.h5");
    raw::edit(folder / "a.h5", [&](hid_t file) {
      const std::vector<std::uint64_t> zeros(10);
      raw::dataset(file, "/inputs/x", stored, {10}, zeros.data());
    });
    EXPECT_EQ(DataSet(folder / "a.h5").info().columns.inputs.at(1).dtype, dtype);
  }
}

TEST(Schema, IntegrityIsUncheckedWhenOneColumnHasNoTable) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) { raw::remove(file, "/checksums/groups/camera"); });
  const DataSet data_set(folder / "a.h5");
  EXPECT_FALSE(data_set.info().checksums.columns);
  EXPECT_EQ(data_set.info().columns.inputs[0].rows_per_checksum, 4);
  EXPECT_EQ(data_set.info().columns.groups[0].rows_per_checksum, 0);
}

TEST(Schema, WhatItDoesNotNameIsIgnored) {
  const raw::TemporaryFolder folder;
  SampleFile().write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) {
    const std::int32_t values[] = {1, 2, 3};
    raw::dataset(file, "/notes/strange", H5T_STD_B32LE, {3}, values);
    raw::text(file, "/", "source", "somewhere");
    raw::remove(file, "/class_names");
    const std::int64_t ignored = -100;
    raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &ignored);
  });
  const DataSet data_set(folder / "a.h5");
  EXPECT_TRUE(data_set.info().class_names.empty());
  EXPECT_EQ(data_set.info().ignore_index, -100);
}

TEST(Schema, ADataSetMayBeMoved) {
  const raw::TemporaryFolder folder;
  const SampleFile sample;
  sample.write(folder / "a.h5");
  DataSet first(folder / "a.h5");
  DataSet second = std::move(first);
  const auto rows = rows_of(second, second.info().columns.targets[0], 3, 1);
  EXPECT_EQ(std::to_integer<int>(rows[0]), 3);
}

}  // namespace
}  // namespace tally::data
