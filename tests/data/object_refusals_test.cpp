// SPDX-License-Identifier: Apache-2.0
// What readers refuse in data sets of detection.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <tally/data/describe_data_set.hpp>
#include <tally/data/detection_objects.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "object_file.hpp"
#include "spoil.hpp"

namespace tally::data {
namespace {

class ObjectRefusals : public testing::TestWithParam<Change> {};

TEST_P(ObjectRefusals, NameFileObjectFoundAndExpected) {
  const raw::TemporaryFolder folder;
  ObjectFile().write(folder / "val.h5");
  ASSERT_NO_THROW(DataSet(folder / "val.h5"));
  raw::edit(folder / "val.h5", GetParam().apply);

  auto parts = GetParam().message;
  parts.push_back("data set '" + (folder / "val.h5").string() + "'");
  expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / "val.h5"); });
}

TEST(ObjectRefusals, NameEachDatasetThatIsMissing) {
  const raw::TemporaryFolder folder;
  ObjectFile().write(folder / "good.h5");
  const DataSet good(folder / "good.h5");
  for (const ColumnInfo& table : good.info().tables) {
    const auto bad = folder / "bad.h5";
    std::filesystem::remove(bad);
    ObjectFile().write(bad);
    raw::edit(bad, [&](hid_t file) { raw::remove(file, table.path.c_str()); });
    expect_error(ErrorKind::dataset, {table.path + " is missing; the task detection needs it"},
                 [&] { DataSet data_set(bad); });
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ObjectRefusals,
    testing::Values(Change{"no_classes",
                           {"has num_classes 0, expected 1 to 2147483647 for the task detection"},
                           [](hid_t f) { set_int(f, "/", "num_classes", 0); }},
                    Change{"ignored",
                           {"has ignore_index -1, but the task detection scores every target"},
                           [](hid_t f) { set_int(f, "/", "ignore_index", -1); }},
                    Change{"more_classes_than_numbers",
                           {"/classes/id has shape [3], expected [4]"},
                           [](hid_t f) { set_int(f, "/", "num_classes", 4); }},
                    Change{"fewer_numbers_of_images",
                           {"/images/id has shape [2], expected [3]"},
                           [](hid_t f) { replace(f, "/images/id", H5T_STD_I64LE, {2}); }},
                    Change{"numbers_of_int32",
                           {"/images/id holds int32, expected int64"},
                           [](hid_t f) { replace(f, "/images/id", H5T_STD_I32LE, {3}); }},
                    Change{"placements_of_two",
                           {"/images/placement has shape [3, 2], expected [3, 4]"},
                           [](hid_t f) {
                             replace(f, "/images/placement", H5T_IEEE_F64LE, {3, 2});
                           }},
                    Change{"placements_of_float32",
                           {"/images/placement holds float32, expected float64"},
                           [](hid_t f) {
                             replace(f, "/images/placement", H5T_IEEE_F32LE, {3, 4});
                           }},
                    Change{"offsets_without_the_end",
                           {"/objects/offsets has shape [3], expected [4]"},
                           [](hid_t f) { replace(f, "/objects/offsets", H5T_STD_I64LE, {3}); }},
                    Change{"boxes_of_five",
                           {"/objects/box has shape [3, 5], expected [3, 4]"},
                           [](hid_t f) {
                             replace(f, "/objects/box", H5T_IEEE_F64LE, {3, 5});
                           }},
                    Change{"boxes_in_one_row",
                           {"/objects/box has shape [12], expected [12, 4]"},
                           [](hid_t f) { replace(f, "/objects/box", H5T_IEEE_F64LE, {12}); }},
                    Change{"a_box_more",
                           {"/objects/label has shape [3], expected [4]"},
                           [](hid_t f) {
                             replace(f, "/objects/box", H5T_IEEE_F64LE, {4, 4});
                           }},
                    Change{"labels_of_int64",
                           {"/objects/label holds int64, expected int32"},
                           [](hid_t f) { replace(f, "/objects/label", H5T_STD_I64LE, {3}); }},
                    Change{"crowds_of_int32",
                           {"/objects/crowd holds int32, expected uint8"},
                           [](hid_t f) { replace(f, "/objects/crowd", H5T_STD_I32LE, {3}); }},
                    Change{"areas_of_float32",
                           {"/objects/area holds float32, expected float64"},
                           [](hid_t f) { replace(f, "/objects/area", H5T_IEEE_F32LE, {3}); }},
                    Change{"no_images",
                           {"/inputs/index has no rows: there are 0 samples"},
                           [](hid_t f) { replace(f, "/inputs/index", H5T_STD_I64LE, {0}); }},
                    Change{
                        "boxes_bomb",
                        {"/objects/box has no storage"},
                        [](hid_t f) {
                          raw::remove(f, "/objects/box");
                          raw::dataset(f, "/objects/box", H5T_IEEE_F64LE, {1ULL << 40, 4}, nullptr);
                        }}),
    change_name);

struct WrongObject {
  const char* name;
  std::string message;
  std::function<void(ObjectFile&)> apply;
};

std::ostream& operator<<(std::ostream& out, const WrongObject& wrong) { return out << wrong.name; }

class ObjectValues : public testing::TestWithParam<WrongObject> {};

TEST_P(ObjectValues, AreRefusedWhereTheyAreRead) {
  const raw::TemporaryFolder folder;
  ObjectFile file;
  GetParam().apply(file);
  file.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  const auto read = [&] {
    read_objects(data_set, 0, 3);
    read_images(data_set, 0, 3);
    read_class_ids(data_set);
  };
  expect_error(ErrorKind::dataset, {GetParam().message + " (read)"}, read);
  expect_error(ErrorKind::dataset, {GetParam().message}, [&] { verify(data_set); });
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

INSTANTIATE_TEST_SUITE_P(
    All, ObjectValues,
    testing::Values(
        WrongObject{"x_nan", "/objects/box[0, 0] = nan, expected a finite number",
                    [](ObjectFile& f) { f.images[0].objects[0].box[0] = std::nan(""); }},
        WrongObject{"y_infinite", "/objects/box[2, 1] = -inf, expected a finite number",
                    [](ObjectFile& f) { f.images[2].objects[0].box[1] = -kInfinity; }},
        WrongObject{"width_negative",
                    "/objects/box[1, 2] = -1, expected a finite number, 0 or more",
                    [](ObjectFile& f) { f.images[0].objects[1].box[2] = -1; }},
        WrongObject{"height_infinite",
                    "/objects/box[1, 3] = inf, expected a finite number, 0 or more",
                    [](ObjectFile& f) { f.images[0].objects[1].box[3] = kInfinity; }},
        WrongObject{"area_nan", "/objects/area[0] = nan, expected a finite number, 0 or more",
                    [](ObjectFile& f) { f.images[0].objects[0].area = std::nan(""); }},
        WrongObject{"area_negative", "/objects/area[2] = -0.5, expected a finite number, 0 or more",
                    [](ObjectFile& f) { f.images[2].objects[0].area = -0.5; }},
        WrongObject{"class_3", "/objects/label[2] = 3, expected 0 to 2",
                    [](ObjectFile& f) { f.images[2].objects[0].label = 3; }},
        WrongObject{"class_below_0", "/objects/label[0] = -1, expected 0 to 2",
                    [](ObjectFile& f) { f.images[0].objects[0].label = -1; }},
        WrongObject{"half_a_crowd", "/objects/crowd[1] = 2, expected 0 to 1",
                    [](ObjectFile& f) { f.images[0].objects[1].crowd = 2; }},
        WrongObject{"scale_zero", "/images/placement[1, 0] = 0, expected a finite number above 0",
                    [](ObjectFile& f) { f.images[1].placement[0] = 0; }},
        WrongObject{"scale_nan", "/images/placement[2, 1] = nan, expected a finite number above 0",
                    [](ObjectFile& f) { f.images[2].placement[1] = std::nan(""); }},
        WrongObject{"offset_infinite", "/images/placement[0, 3] = inf, expected a finite number",
                    [](ObjectFile& f) { f.images[0].placement[3] = kInfinity; }},
        WrongObject{"images_out_of_order",
                    "/images/id[2] = 138 after 139, expected numbers that ascend",
                    [](ObjectFile& f) { f.images[2].id = 138; }},
        WrongObject{"image_twice", "/images/id[1] = 42 after 42, expected numbers that ascend",
                    [](ObjectFile& f) { f.images[1].id = 42; }},
        WrongObject{"class_twice",
                    "/classes/id[2] = 1, as that of class 0, expected another for each class",
                    [](ObjectFile& f) { f.class_ids[2] = 1; }}),
    change_name);

TEST(ObjectValues, ImagesAscendOverPieces) {
  const raw::TemporaryFolder folder;
  ObjectFile file;
  file.images[2].id = 139;
  file.write(folder / "a.h5");
  DataSet data_set(folder / "a.h5");
  EXPECT_NO_THROW(read_images(data_set, 0, 2));
  expect_error(ErrorKind::dataset, {"/images/id[2] = 139 after 139"},
               [&] { read_images(data_set, 2, 1); });
}

TEST(ObjectValues, OffsetsAscendOverAllObjects) {
  const raw::TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::int64_t>& offsets, const std::string& place) {
    const auto path = folder / "a.h5";
    std::filesystem::remove(path);
    ObjectFile().write(path);
    overwrite(path, "/objects/offsets", H5T_STD_I64LE, {4}, offsets);
    DataSet data_set(path);
    const std::string expected =
        "/objects/offsets" + place +
        ", expected offsets that ascend from 0 to the 3 rows of /objects/box (read)";
    expect_error(ErrorKind::dataset, {expected}, [&] { read_objects(data_set, 0, 3); });
    expect_error(ErrorKind::dataset, {expected}, [&] { verify(data_set); });
  };
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  refused({1, 2, 2, 3}, "[0] = 1");
  refused({-1, 2, 2, 3}, "[0] = -1");
  refused({0, 2, 1, 3}, "[2] = 1");
  refused({0, 2, 2, 2}, "[3] = 2");
  refused({0, 4, 2, 3}, "[1] = 4");
  refused({0, kHuge, 2, 3}, "[1] = " + std::to_string(kHuge));
  refused({0, -kHuge - 1, 2, 3}, "[1] = " + std::to_string(-kHuge - 1));
}

}  // namespace
}  // namespace tally::data
