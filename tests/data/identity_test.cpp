// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/data/data_set.hpp>

#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

class Identity : public testing::Test {
 protected:
  std::string of(const SampleFile& sample, const std::function<void(hid_t)>& change = {}) {
    const auto path = folder_ / std::to_string(next_++);
    sample.write(path);
    if (change) raw::edit(path, change);
    return DataSet(path).identity();
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

const auto kOtherLabel = [](hid_t file) {
  const hid_t id = raw::ok(H5Dopen2(file, "/targets/label", H5P_DEFAULT));
  const std::vector<std::int64_t> ones(10, 1);
  raw::ok(H5Dwrite(id, H5T_STD_I64LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data()));
  H5Dclose(id);
};

TEST_F(Identity, IsTheSameForTheSameContentUnderAnotherName) {
  EXPECT_EQ(of({}).size(), 64U);
  EXPECT_EQ(of({}), of({}));
  EXPECT_EQ(of({.rows_per_block = 4}), of({.rows_per_block = 4}));
}

TEST_F(Identity, ChangesWithStructureAttributesAndTables) {
  const SampleFile checked{.rows_per_block = 4};
  const std::string plain = of(checked);
  EXPECT_NE(plain, of({}));
  EXPECT_NE(plain, of({.rows_per_block = 5}));
  EXPECT_NE(plain, of({.num_samples = 11, .rows_per_block = 4}));
  EXPECT_NE(plain, of({.width = 4, .rows_per_block = 4}));
  EXPECT_NE(plain, of(checked, [](hid_t f) { raw::remove(f, "/class_names"); }));
  EXPECT_NE(plain, of(checked, [](hid_t f) { raw::text(f, "/inputs/image", "channels", "BGR"); }));
  EXPECT_NE(plain, of(checked, [](hid_t f) {
              const double mean[] = {0.5, 0.25, 0.126};
              raw::attribute(f, "/inputs/image", "mean", H5T_IEEE_F64LE, {3}, mean);
            }));
  EXPECT_NE(plain, of(checked,
                      [](hid_t f) { raw::text(f, "/inputs/image", "interpolation", "bicubic"); }));
  EXPECT_NE(plain, of(checked, [](hid_t f) {
              const hid_t id = raw::ok(H5Dopen2(f, "/checksums/inputs/image", H5P_DEFAULT));
              const std::uint32_t sums[] = {1, 2, 3};
              raw::ok(H5Dwrite(id, H5T_STD_U32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums));
              H5Dclose(id);
            }));
}

TEST_F(Identity, WithoutTablesTargetsAndGroupsCount) {
  EXPECT_NE(of({}), of({}, kOtherLabel));
  EXPECT_NE(of({}), of({}, [](hid_t file) {
              const hid_t id = raw::ok(H5Dopen2(file, "/groups/camera", H5P_DEFAULT));
              const std::vector<std::int32_t> sevens(10, 7);
              raw::ok(H5Dwrite(id, H5T_STD_I32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, sevens.data()));
              H5Dclose(id);
            }));
}

TEST_F(Identity, LeavesTheCountersOfTheSetAlone) {
  SampleFile().write(folder_ / "a.h5");
  const DataSet data_set(folder_ / "a.h5");
  data_set.identity();
  EXPECT_EQ(data_set.bytes_read(), 0);
}

}  // namespace
}  // namespace tally::data
