// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <tally/data/describe_data_set.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Describe, TellsStructureCountsAndIntegrity) {
  const raw::TemporaryFolder folder;
  SampleFile{.num_samples = 11, .rows_per_block = 4}.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) {
    raw::text(file, "/", "source", "camera\nroll");
    const std::int32_t notes[] = {1, 2};
    raw::dataset(file, "/group/camera", H5T_STD_I32LE, {2}, notes);
  });
  DataSet data_set(folder / "a.h5");
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("task multiclass"), HasSubstr("11 samples"),
                                    HasSubstr("5 classes"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("/inputs/image  uint8 [11, 4, 3, 3]"),
                                    HasSubstr("contiguous"), HasSubstr("every 4 rows"))));
  EXPECT_THAT(lines, Contains(HasSubstr("mean [0.5, 0.25, 0.125], std [1, 2, 4]")));
  EXPECT_THAT(lines, Contains(HasSubstr("class names: class0, class1")));
  EXPECT_THAT(lines, Contains(HasSubstr("labels: 5 of 5 classes occur; of these fewest 2 (class 1 "
                                        "'class1'), most 3 (class 0 'class0')")));
  EXPECT_THAT(lines, Contains("  class 4 'class4': 2"));
  EXPECT_THAT(lines, Contains("attribute source: camera\\x0aroll"));
  EXPECT_THAT(lines, Contains("not used: /group/camera"));
  EXPECT_THAT(lines,
              Contains(HasSubstr("integrity: columns checked, 3 of 3 columns have checksums")));
  EXPECT_EQ(verify(data_set),
            "verified: all 11 rows read, labels in range, 9 blocks match their checksums");
  EXPECT_THAT(lines, Contains("identity: " + data_set.identity()));
}

TEST(Describe, ListsLabelsOutOfRangeInsteadOfFailing) {
  const raw::TemporaryFolder folder;
  SampleFile sample{.num_samples = 30};
  sample.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [&](hid_t file) {
    auto labels = sample.labels();
    for (std::size_t i = 5; i < 18; ++i) labels[i] = 70;
    labels[20] = -1;
    labels[0] = -1;
    raw::remove(file, "/targets/label");
    raw::dataset(file, "/targets/label", H5T_STD_I64LE, {30}, labels.data());
    const std::int64_t ignored = -1;
    raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &ignored);
  });
  DataSet data_set(folder / "a.h5");
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("; 2 ignored")));
  EXPECT_THAT(lines, Contains("labels out of range: 13"));
  EXPECT_THAT(lines, Contains("  /targets/label[5] = 70, expected 0..4 or ignore_index -1"));
  EXPECT_THAT(lines, Contains(HasSubstr("[14] = 70")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("[15] = 70"))));
  EXPECT_THAT(lines, Contains("  … and 3 more"));
  EXPECT_THAT(lines, Contains(HasSubstr("integrity: unchecked")));
  expect_error(ErrorKind::dataset, {"/targets/label[5]", "= 70"}, [&] { verify(data_set); });
}

TEST(Verify, ReadsAlsoWhatHasNoChecksums) {
  const raw::TemporaryFolder folder;
  SampleFile{.num_samples = 11, .rows_per_block = 0}.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  EXPECT_EQ(verify(data_set),
            "verified: all 11 rows read, labels in range, there are no checksums to compare with");
  const auto row_bytes = data_set.info().columns.inputs.front().row_bytes();
  EXPECT_GE(data_set.bytes_read(), 11 * row_bytes);
}

TEST(Describe, ManyClassesAreBounded) {
  const raw::TemporaryFolder folder;
  SampleFile{.num_samples = 5, .num_classes = 1000}.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const auto lines = describe(data_set);
  EXPECT_LT(lines.size(), 40U);
  EXPECT_THAT(lines, Contains(HasSubstr("5 of 1000 classes occur")));
  EXPECT_THAT(lines, Contains("  … and 980 more classes"));
  EXPECT_THAT(lines, Contains(HasSubstr("… and 990 more")));
}

TEST(Describe, DamageIsFoundWhenEverythingIsRead) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "a.h5");
  raw::edit(folder / "a.h5", [](hid_t file) {
    const hid_t id = raw::ok(H5Dopen2(file, "/inputs/image", H5P_DEFAULT));
    const std::vector<std::uint8_t> zeros(10 * 36);
    raw::ok(H5Dwrite(id, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()));
    H5Dclose(id);
  });
  DataSet data_set(folder / "a.h5");
  EXPECT_THAT(describe(data_set),
              Contains(HasSubstr("integrity: columns checked, 3 of 3 columns have checksums")));
  expect_error(ErrorKind::dataset, {"/inputs/image rows 0..3"}, [&] { verify(data_set); });
}

}  // namespace
}  // namespace tally::data
