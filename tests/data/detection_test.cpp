// SPDX-License-Identifier: Apache-2.0
// Data sets of detection: what is read of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <tally/base/checked_cast.hpp>
#include <tally/data/add_checksums.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/data/detection_objects.hpp>

#include "expect_error.hpp"
#include "object_file.hpp"
#include "sample_file.hpp"
#include "spoil.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

class Detection : public testing::Test {
 protected:
  DataSet open(const ObjectFile& file) {
    const auto path = folder_ / std::to_string(next_++);
    file.write(path);
    return DataSet(path);
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

TEST_F(Detection, SamplesAreUnits) {
  const DataSet data_set = open({});
  const DataSetInfo& info = data_set.info();
  EXPECT_EQ(info.task, "detection");
  EXPECT_EQ(info.num_samples, 3);
  EXPECT_EQ(info.num_units, 0);
  EXPECT_EQ(info.num_classes, 3);
  EXPECT_TRUE(info.columns.targets.empty());
  EXPECT_FALSE(info.columns.lengths);
  EXPECT_EQ(info.tables.size(), 8U);
  EXPECT_EQ(info.table("/images/placement").row_shape, Shape{4});
  EXPECT_EQ(info.table("/objects/offsets").num_rows, 4);
  EXPECT_EQ(info.table("/objects/box").num_rows, 3);
  EXPECT_EQ(info.table("/objects/label").range->most, 2);
  EXPECT_FALSE(info.checksums.columns);
}

TEST_F(Detection, ObjectsOfImagesAreRead) {
  for (const std::int64_t rows_per_block : {0, 1, 2, 64}) {
    DataSet data_set = open({.rows_per_block = rows_per_block});
    const Objects all = read_objects(data_set, 0, 3);
    EXPECT_THAT(all.offsets, ElementsAre(0, 2, 2, 3));
    EXPECT_THAT(all.box, ElementsAre(Box{1, 2, 30, 40}, Box{-1.5, 0.25, 0, 0}, Box{5, 6, 7.5, 8}));
    EXPECT_THAT(all.label, ElementsAre(2, 0, 1));
    EXPECT_THAT(all.crowd, ElementsAre(0, 1, 0));
    EXPECT_THAT(all.area, ElementsAre(1024, 0, 59.75));

    const Objects some = read_objects(data_set, 1, 2);
    EXPECT_THAT(some.offsets, ElementsAre(0, 0, 1));
    EXPECT_THAT(some.box, ElementsAre(Box{5, 6, 7.5, 8}));
    EXPECT_THAT(some.label, ElementsAre(1));
    EXPECT_EQ(read_objects(data_set, 1, 1).num_images(), 1);
    EXPECT_TRUE(read_objects(data_set, 1, 1).box.empty());
    for (const std::int64_t first : {0, 1, 3}) {
      EXPECT_THAT(read_objects(data_set, first, 0).offsets, ElementsAre(0)) << first;
    }
  }
}

TEST_F(Detection, ImagesAndClassesHaveNumbers) {
  DataSet data_set = open({});
  const Images images = read_images(data_set, 0, 3);
  EXPECT_THAT(images.id, ElementsAre(42, 139, 285));
  EXPECT_THAT(images.placement,
              ElementsAre(Placement{2, 1.5, 0, -3}, Placement{}, Placement{1, 1, 0, 0}));
  EXPECT_THAT(read_images(data_set, 2, 1).id, ElementsAre(285));
  EXPECT_THAT(read_images(data_set, 2, 1).placement, ElementsAre(Placement{}));
  EXPECT_TRUE(read_images(data_set, 3, 0).id.empty());
  EXPECT_THAT(read_class_ids(data_set), ElementsAre(1, 90, 17));
}

TEST_F(Detection, ThereMayBeNoObjectAtAll) {
  ObjectFile file;
  for (Annotated& image : file.images) image.objects.clear();
  for (const std::int64_t rows_per_block : {0, 2}) {
    file.rows_per_block = rows_per_block;
    DataSet data_set = open(file);
    EXPECT_EQ(data_set.info().checksums.columns, rows_per_block > 0);
    EXPECT_THAT(read_objects(data_set, 0, 3).offsets, ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(describe(data_set), Contains(HasSubstr("objects: 0, in 0 of 3 images")));
    EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read, objects in range"));
    EXPECT_EQ(data_set.identity().size(), 64U);
    const auto copy = folder_ / ("checked " + std::to_string(rows_per_block));
    add_checksums(data_set.info().path, copy);
    EXPECT_TRUE(DataSet(copy).info().checksums.columns);
  }
}

TEST_F(Detection, TablesWithoutRowsMayBeInChunks) {
  ObjectFile file;
  for (Annotated& image : file.images) image.objects.clear();
  const auto path = open(file).info().path;
  raw::edit(path, [](hid_t f) {
    raw::remove(f, "/objects/box");
    const hid_t properties = raw::chunked({16, 4});
    raw::ok(H5Pset_deflate(properties, 3));
    raw::dataset(f, "/objects/box", H5T_IEEE_F64LE, {0, 4}, nullptr, properties);
  });
  DataSet data_set(path);
  EXPECT_TRUE(read_objects(data_set, 0, 3).box.empty());
  EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read"));
}

TEST_F(Detection, BatchesNeedNotReachTheEnd) {
  DataSet data_set = open({});
  const plan::BatchGrid grid(2, 2);  // of three
  std::vector<std::vector<std::byte>> memory(
      2, std::vector<std::byte>(to_size(slot_bytes(data_set.info(), 2))));
  BatchReader reader(data_set, grid, {0, 1}, {memory.begin(), memory.end()});
  const Batch* batch = reader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->samples.count, 2);
  EXPECT_TRUE(batch->targets.empty());
  EXPECT_EQ(batch->inputs.at(0).as<const std::int64_t>()[1], 1);
  EXPECT_EQ(reader.next(), nullptr);
}

// Each change leaves the file as large as it was.
const std::vector<std::function<void(ObjectFile&)>> kChanges{
    [](ObjectFile& f) { f.images[1].id = 140; },
    [](ObjectFile& f) { f.images[0].placement[3] = 3; },
    [](ObjectFile& f) { f.class_ids[0] = 2; },
    [](ObjectFile& f) { std::swap(f.images[1].objects, f.images[2].objects); },
    [](ObjectFile& f) { f.images[0].objects[0].box[2] = 31; },
    [](ObjectFile& f) { f.images[0].objects[0].label = 1; },
    [](ObjectFile& f) { f.images[0].objects[0].crowd = 1; },
    [](ObjectFile& f) { f.images[0].objects[0].area = 1025; }};

TEST_F(Detection, ObjectsCountForTheIdentity) {
  for (const std::int64_t rows_per_block : {0, 2}) {
    const ObjectFile good{.rows_per_block = rows_per_block};
    EXPECT_EQ(open(good).identity(), open(good).identity());
    std::set<std::string> identities{open(good).identity()};
    for (std::size_t i = 0; i < kChanges.size(); ++i) {
      ObjectFile changed = good;
      kChanges[i](changed);
      EXPECT_TRUE(identities.insert(open(changed).identity()).second) << "change " << i;
    }
  }
}

TEST_F(Detection, ObjectsAreDescribedForPeople) {
  DataSet data_set = open({.rows_per_block = 4});
  const auto lines = describe(data_set);
  EXPECT_THAT(lines, Contains(HasSubstr("task detection, 3 samples, 3 classes")));
  EXPECT_THAT(lines,
              IsSupersetOf({"class names: none",
                            "objects: 3, 1 of them crowds, in 2 of 3 images; 3 of 3 "
                            "classes occur",
                            "  class 0: 1, 1 of them crowds", "  class 1: 1", "  class 2: 1"}));
  EXPECT_THAT(lines, Contains(HasSubstr("  /objects/box  float64 [3, 4]")));
  EXPECT_THAT(lines, Contains(HasSubstr("9 of 9 columns have checksums")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("not used"))));
  EXPECT_THAT(verify(data_set), HasSubstr("all 3 rows read, objects in range"));
}

TEST_F(Detection, DamagedTablesAreFound) {
  const DataSetInfo info = open({.rows_per_block = 2}).info();
  for (const ColumnInfo& table : info.tables) {
    const auto path = open({.rows_per_block = 2}).info().path;
    spoil(path, table);
    DataSet damaged(path);
    expect_error(ErrorKind::dataset, {table.path + " rows 2..", "damaged"},
                 [&] { verify(damaged); });
  }
}

TEST_F(Detection, ImagesAreStagedAndObjectsAreNot) {
  DataSet data_set = open({.rows_per_block = 2});
  EXPECT_EQ(data_set.stage({1, 2}, folder_.path()), 3 * 8);  // with the whole block
  EXPECT_THAT(read_objects(data_set, 1, 2).label, ElementsAre(1));
}

}  // namespace
}  // namespace tally::data
