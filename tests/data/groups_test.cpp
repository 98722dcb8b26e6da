// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <span>

#include <tally/data/column_values.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

using Values = std::vector<std::int32_t>;

class Groups : public testing::Test {
 protected:
  // A set whose group 'site' has these values.
  DataSet with_sites(const Values& sites) {
    const auto path = folder_ / std::to_string(next_++);
    const auto rows = static_cast<std::int64_t>(sites.size());
    SampleFile{.num_samples = rows, .height = 1, .width = 1}.write(path);
    raw::edit(path, [&](hid_t file) {
      raw::dataset(file, "/groups/site", H5T_STD_I32LE, {sites.size()}, sites.data());
    });
    return DataSet(path);
  }
  static const ColumnInfo& site(const DataSet& data_set) {
    return data_set.info().columns.groups[1];
  }

  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(Groups, ValuesAreDistinctAndAscending) {
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  DataSet data_set = with_sites({7, kMost, 7, -1, kLeast, 0, -1});
  EXPECT_EQ(group_values(data_set, site(data_set), 0, 7), (Values{kLeast, -1, 0, 7, kMost}));
  EXPECT_EQ(group_values(data_set, site(data_set), 2, 2), (Values{-1, 7}));
  EXPECT_EQ(group_values(data_set, site(data_set), 6, 1), Values{-1});
  EXPECT_EQ(group_values(data_set, site(data_set), 7, 0), Values{});
  EXPECT_EQ(group_values(data_set, site(data_set), 0, 0), Values{});
}

constexpr std::int32_t kNumSites = 3000;

// Of numbers in [0, kNumSites).
Values sorted_distinct(std::span<const std::int32_t> values) {
  std::vector<char> occurs(kNumSites);
  for (const std::int32_t value : values) occurs[static_cast<std::size_t>(value)] = 1;
  Values distinct;
  for (std::int32_t value = 0; value < kNumSites; ++value) {
    if (occurs[static_cast<std::size_t>(value)] != 0) distinct.push_back(value);
  }
  return distinct;
}

// More rows than one piece of 1 MiB holds.
TEST_F(Groups, SlicesTogetherHaveWhatTheWholeHas) {
  std::mt19937 random(3);
  Values sites(300'001);
  for (auto& value : sites) value = static_cast<std::int32_t>(random() % kNumSites);
  DataSet data_set = with_sites(sites);
  const auto rows = static_cast<std::int64_t>(sites.size());
  for (const std::int64_t ranks : {1, 2, 3, 5}) {
    Values together;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t first = rows * rank / ranks, end = rows * (rank + 1) / ranks;
      const Values found = group_values(data_set, site(data_set), first, end - first);
      EXPECT_EQ(found, sorted_distinct({sites.begin() + first, sites.begin() + end}))
          << rank << " of " << ranks;
      together.insert(together.end(), found.begin(), found.end());
    }
    EXPECT_EQ(sorted_distinct(together), sorted_distinct(sites));
  }
}

TEST_F(Groups, TooManyValuesShowAsOneMoreThanAllowed) {
  Values sites(10'000);
  for (std::size_t i = 0; i < sites.size(); ++i) sites[i] = static_cast<std::int32_t>(i);
  DataSet data_set = with_sites(sites);
  EXPECT_EQ(group_values(data_set, site(data_set), 0, 4096).size(), kMaxGroupValues);
  EXPECT_EQ(group_values(data_set, site(data_set), 0, 4097).size(), kMaxGroupValues + 1);
  EXPECT_EQ(group_values(data_set, site(data_set), 0, 10'000).size(), kMaxGroupValues + 1);
}

TEST_F(Groups, DamageIsFound) {
  SampleFile{.rows_per_block = 4}.write(folder_ / "a.h5");
  raw::edit(folder_ / "a.h5", [](hid_t file) {
    const hid_t id = raw::ok(H5Dopen2(file, "/groups/camera", H5P_DEFAULT));
    const Values sevens(10, 7);
    raw::ok(H5Dwrite(id, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, sevens.data()));
    H5Dclose(id);
  });
  DataSet data_set(folder_ / "a.h5");
  expect_error(ErrorKind::dataset, {"/groups/camera rows 4..7"},
               [&] { group_values(data_set, data_set.info().columns.groups[0], 5, 1); });
}

TEST_F(Groups, OtherColumnsAndRowsAreDefectsOfTheCaller) {
  DataSet data_set = with_sites({1, 2, 3});
  expect_error(ErrorKind::internal, {"/targets/label is no group"},
               [&] { group_values(data_set, data_set.info().columns.targets[0], 0, 3); });
  expect_error(ErrorKind::internal, {"rows 2 + 2 of /groups/site"},
               [&] { group_values(data_set, site(data_set), 2, 2); });
}

}  // namespace
}  // namespace tally::data
