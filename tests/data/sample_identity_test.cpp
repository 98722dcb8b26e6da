// SPDX-License-Identifier: Apache-2.0
// Which data sets are of the same samples, however these were prepared.
#include <gtest/gtest.h>

#include <functional>

#include <tally/data/data_set.hpp>

#include "object_file.hpp"
#include "question_file.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

class SampleIdentity : public testing::Test {
 protected:
  static SampleFile named(std::int64_t rows_per_block = 0) {
    return {.rows_per_block = rows_per_block,
            .names = {"00", "11", "22", "33", "44", "55", "66", "77", "88", "99"}};
  }
  template <class File>
  DataSet open(const File& file, const std::function<void(hid_t)>& change = {},
               Targets targets = Targets::read) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    if (change) raw::edit(path, change);
    return DataSet(path, targets);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(SampleIdentity, IsTheSameHoweverSamplesArePrepared) {
  const auto plain = open(named(4)).sample_identity();
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->size(), 64U);
  SampleFile larger = named(4);
  larger.height = 9;
  EXPECT_EQ(open(larger).sample_identity(), plain);
  EXPECT_NE(open(larger).identity(), open(named(4)).identity());
  const auto no_groups = [](hid_t f) {
    raw::remove(f, "/groups");
    raw::remove(f, "/checksums/groups");
  };
  EXPECT_EQ(open(named(4), no_groups).sample_identity(), plain);
  EXPECT_EQ(open(named(4), [](hid_t f) { raw::remove(f, "/class_names"); }).sample_identity(),
            plain);
  const auto no_input_table = [](hid_t f) { raw::remove(f, "/checksums/inputs"); };
  EXPECT_EQ(open(named(4), no_input_table).sample_identity(), plain);
}

TEST_F(SampleIdentity, IsAnotherForOtherSamples) {
  const auto plain = open(named(4)).sample_identity();
  SampleFile other = named(4);
  other.names[9] = "98";
  EXPECT_NE(open(other).sample_identity(), plain) << "names";
  other = named(4);
  std::swap(other.names[0], other.names[1]);
  EXPECT_NE(open(other).sample_identity(), plain) << "order";
  other = named(4);
  other.num_classes = 4;
  EXPECT_NE(open(other).sample_identity(), plain) << "labels";
  EXPECT_NE(open(named(5)).sample_identity(), plain) << "blocks";
  other = named(4);
  other.num_samples = 9;
  other.names.pop_back();
  EXPECT_NE(open(other).sample_identity(), plain) << "number";
  EXPECT_NE(open(named(4), {}, Targets::left_out).sample_identity(), plain) << "task";
}

TEST_F(SampleIdentity, NeedsNamesAndChecksums) {
  EXPECT_EQ(open(SampleFile{.rows_per_block = 4}).sample_identity(), std::nullopt);
  EXPECT_EQ(open(named()).sample_identity(), std::nullopt);
  for (const char* table : {"/checksums/samples/name/values", "/checksums/samples/name/offsets",
                            "/checksums/targets/label"}) {
    const auto without = [&](hid_t f) { raw::remove(f, table); };
    EXPECT_EQ(open(named(4), without).sample_identity(), std::nullopt) << table;
  }
}

TEST_F(SampleIdentity, ImagesAndUnitsHaveNamesOfTheirOwn) {
  const auto of_questions = open(QuestionFile{.rows_per_block = 2}).sample_identity();
  EXPECT_TRUE(of_questions);
  EXPECT_EQ(open(QuestionFile{}).sample_identity(), std::nullopt);
  const ObjectFile objects{.rows_per_block = 2};
  const auto of_objects = open(objects).sample_identity();
  EXPECT_TRUE(of_objects);
  ObjectFile placed = objects;
  placed.images[0].placement[3] = 3;
  EXPECT_EQ(open(placed).sample_identity(), of_objects);
  ObjectFile moved = objects;
  moved.images[0].objects[0].box[0] = 3;
  EXPECT_NE(open(moved).sample_identity(), of_objects);
}

}  // namespace
}  // namespace tally::data
