// SPDX-License-Identifier: Apache-2.0
// One flipped bit anywhere in a data set with checksums: the same data set or a refusal.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/data_set.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/file_probe.hpp>

#include "object_file.hpp"
#include "question_file.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::optional<ImageSize>& size) {
  return size ? format("{}x{} ", size->height, size->width) : "none ";
}

std::string geometry_text(const ImageGeometry& geometry) {
  return text_of(geometry.resize) + text_of(geometry.crop) +
         (geometry.crop_share ? format("{:a} ", *geometry.crop_share) : "none ") +
         format("{} {} ", geometry.crop_mode, geometry.interpolation);
}

std::string text_of(const ColumnInfo& column) {
  std::string text =
      format("{} {} {} {} {} ", column.path, name(column.dtype), to_string(column.row_shape),
             column.num_rows, column.padding ? format("{}", *column.padding) : "none");
  if (!column.image) return text;
  const ImageAttributes& image = *column.image;
  return text + format("{} {} {:a} {:a} {:a} {}", image.layout, image.channels, image.scale,
                       fmt::join(image.mean, ","), fmt::join(image.std, ","),
                       geometry_text(image.geometry));
}

// Of everything that metrics are made of.
std::string fingerprint(const fs::path& path) {
  DataSet data_set(path);
  const DataSetInfo& info = data_set.info();
  digest::Sha256 hash;
  hash.update(format("{} {} {} {} {} {} ", info.task, info.num_samples, info.num_classes,
                     info.ignore_index ? format("{}", *info.ignore_index) : "none",
                     fmt::join(info.class_names, ","), info.no_answer));
  std::vector<ColumnInfo> columns;
  for (const auto* list :
       {&info.columns.inputs, &info.columns.targets, &info.columns.groups, &info.tables}) {
    columns.insert(columns.end(), list->begin(), list->end());
  }
  if (info.columns.lengths) columns.push_back(*info.columns.lengths);
  for (const ColumnInfo& column : columns) {
    hash.update(text_of(column));
    hash.update(rows_of(data_set, column, 0, column.num_rows));
  }
  return hash.hex();
}

enum Outcome { kSame, kRefused, kOther };

// HDF5 1.10 crashes on what is damaged, or goes round in circles, but not on what an
// hdf5::FileProbe lets pass: that is read in a process of its own, and none stands for one that a
// signal ended.
std::optional<Outcome> outcome_of(const fs::path& path, const std::string& expected) {
  try {
    probe_files(path);
  } catch (const Error&) {
    return kRefused;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    Outcome outcome = kOther;
    try {
      if (fingerprint(path) == expected) outcome = kSame;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::dataset) outcome = kRefused;
    }
    ::_exit(outcome);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("no process");
  if (!WIFEXITED(status)) return std::nullopt;
  return static_cast<Outcome>(WEXITSTATUS(status));
}

// Opens and reads copies of the checked set with one random bit flipped each.
void flip(const fs::path& checked, int flips) {
  const hdf5::FileProbe probe;
  ASSERT_EQ(DataSet(checked).info().integrity(), "checked");
  const std::string expected = fingerprint(checked);
  std::ifstream file(checked, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  const fs::path damaged = checked.string() + ".damaged";
  std::mt19937 random(20);
  std::uniform_int_distribution<std::size_t> place(0, 8 * good.size() - 1);
  int refused = 0, crashed = 0;
  for (int i = 0; i < flips; ++i) {
    const std::size_t bit = place(random);
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << bytes;
    const auto outcome = outcome_of(damaged, expected);
    EXPECT_NE(outcome, kOther) << "bit " << bit % 8 << " of byte " << bit / 8;
    refused += outcome == kRefused ? 1 : 0;
    crashed += outcome ? 0 : 1;
  }
  EXPECT_GT(refused, flips / 20);
  EXPECT_EQ(crashed, 0);
}

TEST(Flips, OfAnImageSet) {
  const raw::TemporaryFolder folder;
  const std::vector<std::string> names(40, "a name");
  SampleFile{.num_samples = 40, .names = names}.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) {
    const std::vector<std::int64_t> size{20, 24};
    for (const char* name : {"resize", "crop"}) {
      raw::attribute(file, "/inputs/image", name, H5T_STD_I64LE, {2}, size.data());
    }
    raw::text(file, "/inputs/image", "crop_mode", "center");
    raw::text(file, "/inputs/image", "interpolation", "bicubic");
  });
  add_checksums(folder / "a.h5", folder / "b.h5");
  flip(folder / "b.h5", 500);
}

TEST(Flips, OfQuestions) {
  const raw::TemporaryFolder folder;
  QuestionFile{}.write(folder / "a.h5");
  add_checksums(folder / "a.h5", folder / "b.h5");
  flip(folder / "b.h5", 250);
}

TEST(Flips, OfObjectsInImages) {
  const raw::TemporaryFolder folder;
  ObjectFile{}.write(folder / "a.h5");
  add_checksums(folder / "a.h5", folder / "b.h5");
  flip(folder / "b.h5", 250);
}

}  // namespace
}  // namespace tally::data
