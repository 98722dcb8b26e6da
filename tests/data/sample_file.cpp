// SPDX-License-Identifier: Apache-2.0
#include "sample_file.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <tally/base/checked_cast.hpp>

#include "checked_column.hpp"
#include "file_columns.hpp"

namespace tally::data {
namespace {

hid_t storage_of(const SampleFile& sample, raw::Dims chunk) {
  if (sample.storage == SampleStorage::contiguous) return H5P_DEFAULT;
  chunk[0] = std::min<hsize_t>(4, chunk[0]);
  const hid_t properties = raw::chunked(chunk);
  if (sample.storage == SampleStorage::deflated) {
    raw::ok(H5Pset_shuffle(properties));
    raw::ok(H5Pset_deflate(properties, 3));
  }
  return properties;
}

template <class T>
void write_column(hid_t file, const SampleFile& sample, const std::string& path, hid_t type,
                  const raw::Dims& dims, const std::vector<T>& values) {
  raw::checked_column(file, path, type, dims, values, sample.rows_per_block,
                      storage_of(sample, dims));
}

void write_image_attributes(hid_t file) {
  const double scale = 1.0 / 255, mean[] = {0.5, 0.25, 0.125}, std[] = {1.0, 2.0, 4.0};
  raw::text(file, "/inputs/image", "layout", "HWC");
  raw::text(file, "/inputs/image", "channels", "RGB");
  raw::attribute(file, "/inputs/image", "scale", H5T_IEEE_F64LE, {}, &scale);
  raw::attribute(file, "/inputs/image", "mean", H5T_IEEE_F64LE, {3}, mean);
  raw::attribute(file, "/inputs/image", "std", H5T_IEEE_F64LE, {3}, std);
}

void write_class_names(hid_t file, std::int64_t num_classes) {
  constexpr std::size_t kLength = 12;
  std::string names;
  for (std::int64_t c = 0; c < num_classes; ++c) {
    std::string name = "class" + std::to_string(c);
    name.resize(kLength);
    names += name;
  }
  const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
  raw::ok(H5Tset_size(type, kLength));
  raw::ok(H5Tset_strpad(type, H5T_STR_NULLPAD));
  raw::dataset(file, "/class_names", type, {static_cast<hsize_t>(num_classes)}, names.data());
  raw::ok(H5Tclose(type));
}

}  // namespace

std::vector<std::uint8_t> SampleFile::images() const {
  std::mt19937 random(11);
  std::vector<std::uint8_t> pixels(to_size(num_samples * row_bytes()));
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
  return pixels;
}

std::vector<std::int64_t> SampleFile::labels() const {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < num_samples; ++i) values.push_back(i % num_classes);
  return values;
}

std::vector<std::int32_t> SampleFile::cameras() const {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < num_samples; ++i) values.push_back(static_cast<std::int32_t>(i / 3));
  return values;
}

void SampleFile::write(const std::filesystem::path& path) const {
  raw::create(path, [&](hid_t file) {
    const auto rows = static_cast<hsize_t>(num_samples);
    const std::int64_t schema = 1;
    raw::attribute(file, "/", "tally_schema", H5T_STD_I64LE, {}, &schema);
    raw::attribute(file, "/", "num_classes", H5T_STD_I64LE, {}, &num_classes);
    raw::text(file, "/", "task", "multiclass");
    write_column(file, *this, "/inputs/image", H5T_STD_U8LE,
                 {rows, static_cast<hsize_t>(height), static_cast<hsize_t>(width), 3}, images());
    write_image_attributes(file);
    write_column(file, *this, "/targets/label", H5T_STD_I64LE, {rows}, labels());
    write_column(file, *this, "/groups/camera", H5T_STD_I32LE, {rows}, cameras());
    write_class_names(file, num_classes);
    if (!names.empty()) FileColumns(file, rows_per_block).put_texts("/samples/name", names);
  });
}

std::vector<std::byte> rows_of(DataSet& data_set, const ColumnInfo& column, std::int64_t first,
                               std::int64_t count) {
  std::vector<std::byte> rows(to_size(count * column.row_bytes()));
  data_set.read_rows(column, first, count, rows);
  return rows;
}

}  // namespace tally::data
