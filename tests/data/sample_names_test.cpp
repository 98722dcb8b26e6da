// SPDX-License-Identifier: Apache-2.0
// Names of samples: what is read of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include <tally/data/add_checksums.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/data/sample_names.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "file_columns.hpp"
#include "question_file.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char *kOffsets = "/samples/name/offsets", *kValues = "/samples/name/values";

// Of 30 bytes in all: offsets 0, 5, 5, 14, 18, 20, 22, 24, 26, 28, 30.
std::vector<std::string> ten_names() {
  return {"a.png", "", "東/京.b", "abé", "44", "55", "66", "77", "88", "99"};
}

SampleFile named(std::int64_t rows_per_block = 0) {
  return {.rows_per_block = rows_per_block, .names = ten_names()};
}

class SampleNames : public testing::Test {
 protected:
  template <class File>
  std::filesystem::path write(const File& file, const std::function<void(hid_t)>& change = {}) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    if (change) raw::edit(path, change);
    return path;
  }
  template <class File>
  DataSet open(const File& file, const std::function<void(hid_t)>& change = {}) {
    return DataSet(write(file, change));
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(SampleNames, AreReadOneByOne) {
  for (const std::int64_t rows_per_block : {0, 3, 64}) {
    DataSet data_set = open(named(rows_per_block));
    EXPECT_TRUE(has_sample_names(data_set.info()));
    for (std::int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(read_sample_name(data_set, i), ten_names()[to_size(i)]) << i;
    }
  }
  EXPECT_FALSE(has_sample_names(open(SampleFile{}).info()));
}

TEST_F(SampleNames, NothingElseIsReadForOne) {
  DataSet data_set = open(named());
  EXPECT_EQ(read_sample_name(data_set, 4), "44");
  EXPECT_EQ(data_set.bytes_read(), 2 * 8 + 2);
}

TEST_F(SampleNames, OfMoreBytesThanTheyMayHaveAreRefused) {
  SampleFile file = named();
  file.names[2] = std::string(65'535, 'x');
  DataSet longest = open(file);
  EXPECT_EQ(read_sample_name(longest, 2), file.names[2]);
  EXPECT_NO_THROW(verify(longest));
  file.names[2] += 'x';
  DataSet data_set = open(file);
  const std::string says = "/samples/name[2] has 65536 bytes, expected 65535 at most (read)";
  expect_error(ErrorKind::dataset, {says}, [&] { read_sample_name(data_set, 2); });
  expect_error(ErrorKind::dataset, {says}, [&] { verify(data_set); });
  EXPECT_EQ(read_sample_name(data_set, 3), ten_names()[3]);
}

TEST_F(SampleNames, ThatAreNoTextAreReadAndOnlyRefusedWhereAllIsVerified) {
  SampleFile file = named(4);
  file.names[3] = "\xff";
  DataSet no_utf8 = open(file);
  EXPECT_EQ(read_sample_name(no_utf8, 3), "\xff");
  expect_error(ErrorKind::dataset,
               {"/samples/name[3] = '\\xff', expected UTF-8 without control characters (read)"},
               [&] { verify(no_utf8); });
  file.names[3] = "a\x1b[m";
  DataSet steers = open(file);
  expect_error(ErrorKind::dataset, {"/samples/name[3] = 'a\\x1b[m'"}, [&] { verify(steers); });
  SampleFile many{.num_samples = 1030, .names = std::vector<std::string>(1030, "a")};
  many.names[1029] = "\n";
  DataSet last = open(many);
  expect_error(ErrorKind::dataset, {"/samples/name[1029] = '\\x0a'"}, [&] { verify(last); });
}

TEST_F(SampleNames, MayAllBeEmpty) {
  SampleFile file = named(4);
  file.names.assign(10, "");
  DataSet data_set = open(file);
  EXPECT_EQ(read_sample_name(data_set, 9), "");
  EXPECT_TRUE(data_set.info().checksums.columns);
  EXPECT_THAT(verify(data_set), HasSubstr("all 10 rows read, labels in range"));
}

TEST_F(SampleNames, AreDescribedForPeople) {
  DataSet data_set = open(named(4));
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains("sample names: a.png, , … and 8 more"));
  EXPECT_THAT(lines, Contains(HasSubstr("  /samples/name/offsets  int64 [11]")));
  EXPECT_THAT(lines, Contains(HasSubstr("5 of 5 columns have checksums")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("not used"))));
  SampleFile two{.num_samples = 2, .names = {"\x1b[m", "a\nb"}};
  DataSet of_two = open(two);
  EXPECT_THAT(describe(of_two), Contains("sample names: \\x1b[m, a\\x0ab"));
}

TEST_F(SampleNames, AreNotStaged) {
  DataSet plain = open(SampleFile{.rows_per_block = 4});
  DataSet data_set = open(named(4));
  EXPECT_EQ(data_set.staged_bytes({0, 10}), plain.staged_bytes({0, 10}));
}

TEST_F(SampleNames, CountForTheIdentityAndTheIntegrity) {
  for (const std::int64_t rows_per_block : {0, 4}) {
    SampleFile other = named(rows_per_block);
    other.names[9] = "98";
    EXPECT_EQ(open(named(rows_per_block)).identity(), open(named(rows_per_block)).identity());
    EXPECT_NE(open(named(rows_per_block)).identity(), open(other).identity());
    EXPECT_NE(open(named(rows_per_block)).identity(),
              open(SampleFile{.rows_per_block = rows_per_block}).identity());
  }
  EXPECT_TRUE(open(named(4)).info().checksums.columns);
  const auto without = [](hid_t f) { raw::remove(f, "/checksums/samples/name/values"); };
  EXPECT_FALSE(open(named(4), without).info().checksums.columns);
}

TEST_F(SampleNames, GetChecksumsWithTheOtherColumns) {
  const auto path = write(named());
  add_checksums(path, folder_ / "checked.h5");
  DataSet checked(folder_ / "checked.h5");
  EXPECT_EQ(checked.info().integrity(), "checked");
  EXPECT_EQ(read_sample_name(checked, 0), "a.png");
}

TEST_F(SampleNames, OfOutputsThatAreNotScoredAreThereToo) {
  DataSet data_set(write(named()), Targets::left_out);
  EXPECT_EQ(read_sample_name(data_set, 0), "a.png");
  EXPECT_THAT(verify(data_set), HasSubstr("all 10 rows read, no targets"));
}

TEST_F(SampleNames, AreIgnoredWhereSeveralSamplesMakeAUnit) {
  DataSet data_set = open(QuestionFile{}, [](hid_t file) {
    FileColumns(file, 0).put_texts("/samples/name", {"a", "b", "c", "d", "e"});
  });
  EXPECT_FALSE(has_sample_names(data_set.info()));
  EXPECT_THAT(describe(data_set), Contains("not used: /samples/name/values"));
}

TEST_F(SampleNames, DamageIsFound) {
  const DataSetInfo info = open(named(4)).info();
  for (const char* column : {kOffsets, kValues}) {
    const auto path = write(named(4));
    spoil(path, info.table(column));
    DataSet damaged(path);
    expect_error(ErrorKind::dataset, {column, "CRC-32C", "damaged"},
                 [&] { read_sample_name(damaged, 9); });
    expect_error(ErrorKind::dataset, {column, "damaged"}, [&] { verify(damaged); });
  }
}

// What is refused ------------------------------------------------------------------------------

class SampleNameRefusals : public testing::TestWithParam<Change> {};

TEST_P(SampleNameRefusals, NameFileObjectFoundAndExpected) {
  const raw::TemporaryFolder folder;
  named().write(folder / "val.h5");
  ASSERT_NO_THROW(DataSet(folder / "val.h5"));
  raw::edit(folder / "val.h5", GetParam().apply);
  auto parts = GetParam().message;
  parts.push_back("data set '" + (folder / "val.h5").string() + "'");
  expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / "val.h5"); });
}

INSTANTIATE_TEST_SUITE_P(
    All, SampleNameRefusals,
    testing::Values(Change{"no_values",
                           {"/samples/name/values is missing; /samples/name is a ragged array"},
                           [](hid_t f) { raw::remove(f, kValues); }},
                    Change{"no_offsets",
                           {"/samples/name/offsets is missing; /samples/name is a ragged array"},
                           [](hid_t f) { raw::remove(f, kOffsets); }},
                    Change{"dataset",
                           {"/samples/name/offsets is missing; /samples/name is a ragged array"},
                           [](hid_t f) { replace(f, "/samples/name", H5T_STD_I64LE, {10}); }},
                    Change{"group",
                           {"/samples/name/values is not a dataset"},
                           [](hid_t f) {
                             raw::remove(f, kValues);
                             raw::dataset(f, "/samples/name/values/x", H5T_STD_U8LE, {1}, "a");
                           }},
                    Change{"values_type",
                           {"/samples/name/values holds int8, expected uint8"},
                           [](hid_t f) { replace(f, kValues, H5T_STD_I8LE, {30}); }},
                    Change{"values_rank",
                           {"/samples/name/values has shape [30, 1], expected [30]"},
                           [](hid_t f) {
                             replace(f, kValues, H5T_STD_U8LE, {30, 1});
                           }},
                    Change{"offsets_type",
                           {"/samples/name/offsets holds int32, expected int64"},
                           [](hid_t f) { replace(f, kOffsets, H5T_STD_I32LE, {11}); }},
                    Change{"offsets_length",
                           {"/samples/name/offsets has shape [10], expected [11]"},
                           [](hid_t f) { replace(f, kOffsets, H5T_STD_I64LE, {10}); }}),
    change_name);

struct BadOffset {
  std::size_t place;
  std::int64_t value;
};

TEST_F(SampleNames, OffsetsThatLeadElsewhereAreRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::array kCases{BadOffset{0, 1},      BadOffset{0, -1},  BadOffset{4, 13},
                              BadOffset{4, 31},     BadOffset{4, -1},  BadOffset{4, kMost},
                              BadOffset{4, -kMost}, BadOffset{10, 29}, BadOffset{10, 31},
                              BadOffset{10, kMost}};
  for (const auto& [place, value] : kCases) {
    std::vector<std::int64_t> offsets{0, 5, 5, 14, 18, 20, 22, 24, 26, 28, 30};
    offsets[place] = value;
    const auto path = write(named());
    overwrite(path, kOffsets, H5T_STD_I64LE, {11}, offsets);
    DataSet data_set(path);
    const std::string says = "expected offsets that ascend from 0 to the 30 rows of";
    const auto sample = static_cast<std::int64_t>(place == 0 ? 0 : place - 1);
    expect_error(ErrorKind::dataset, {kOffsets, says}, [&] { read_sample_name(data_set, sample); });
    expect_error(ErrorKind::dataset, {kOffsets, says}, [&] { verify(data_set); });
    if (place == 0) expect_error(ErrorKind::dataset, {kOffsets}, [&] { describe(data_set); });
  }
}

}  // namespace
}  // namespace tally::data
