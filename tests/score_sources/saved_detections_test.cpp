// SPDX-License-Identifier: Apache-2.0
// Detections that were saved, matched with the images and classes of a data set.
#include "saved_detections.hpp"

#include <fstream>
#include <limits>

#include <tally/base/format.hpp>

#include "expect_error.hpp"
#include "object_file.hpp"
#include "raw_hdf5.hpp"
#include "saved_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Of a predictions.h5: two detections of the first image, none of the second, one of the last.
struct Columns {
  std::vector<std::int64_t> index{0, 1, 2}, image_id{42, 139, 285};
  std::vector<std::int64_t> offsets{0, 2, 2, 3}, label_offsets = offsets, score_offsets = offsets;
  std::vector<double> boxes{1, 2, 30, 40, 0, 0, 5, 5, 5, 6, 7.5, 8};
  std::vector<double> scores{0.5, 0.75, 0.25};
  std::vector<std::int32_t> labels{2, 0, 1};
};

// Images 42, 139 and 285 with the classes 1, 90 and 17.
class SavedDetectionsTest : public testing::Test {
 protected:
  SavedDetectionsTest() { data::ObjectFile{}.write(folder_ / "d.h5"); }

  SavedDetections read(const std::string& name, std::int64_t num_scored = 3,
                       const std::string& identity = "") const {
    data::DataSet set(folder_ / "d.h5");
    return read_detections((folder_ / name).string(), set, num_scored, identity);
  }
  SavedDetections of_json(const std::string& entries) const {
    std::ofstream(folder_ / "r.json") << "[" << entries << "]";
    return read("r.json");
  }
  void write(const Columns& columns, const std::string& data_identity = "") const {
    SavedFile file(folder_ / "p.h5", "detection");
    file.each("index", columns.index).each("image_id", columns.image_id);
    file.each("box/offsets", columns.offsets).put("box/values", box_shape(columns), columns.boxes);
    file.each("label/offsets", columns.label_offsets).each("label/values", columns.labels);
    file.each("score/offsets", columns.score_offsets).each("score/values", columns.scores);
    file.set("data", "train.h5");
    if (!data_identity.empty()) file.set("data_identity", data_identity);
    file.close();
  }

  raw::TemporaryFolder folder_;

 private:
  static Shape box_shape(const Columns& columns) { return {std::ssize(columns.boxes) / 4, 4}; }
};

std::string entry(std::int64_t image, std::int64_t category, double score) {
  return format(R"({{"image_id":{},"category_id":{},"bbox":[1,2,3,4],"score":{}}})", image,
                category, score);
}

// Sample, class and score of each.
std::vector<std::string> summary(const SavedDetections& saved) {
  std::vector<std::string> lines;
  for (const auto& [image, found] : saved.all) {
    lines.push_back(format("{}: {} {}", image, found.label, found.score));
  }
  return lines;
}

TEST_F(SavedDetectionsTest, AreSortedByImageAndKeepTheirOrderWithin) {
  const auto saved =
      of_json(entry(285, 90, 0.1) + "," + entry(42, 17, 0.2) + "," + entry(285, 1, 0.9) + "," +
              entry(42, 17, 0.2) + "," + entry(285, 90, 0.5));
  EXPECT_THAT(summary(saved),
              ElementsAre("0: 2 0.2", "0: 2 0.2", "2: 1 0.1", "2: 0 0.9", "2: 1 0.5"));
  EXPECT_EQ(saved.all[0].detection.box, (tasks::Box{1, 2, 3, 4}));
  EXPECT_EQ(saved.ids.num_foreign, 0);
  EXPECT_THAT(saved.notes, IsEmpty());
}

TEST_F(SavedDetectionsTest, AnEmptyListHasNoDetectionAndLacksNothing) {
  const auto saved = of_json("");
  EXPECT_THAT(saved.all, IsEmpty());
  EXPECT_EQ(saved.ids.num_missing, 0) << "COCO's results do not say which images were looked at";
  EXPECT_THAT(saved.notes, IsEmpty());
}

TEST_F(SavedDetectionsTest, ForeignOnesAreCountedEachAndNamedOnce) {
  const auto saved = of_json(entry(43, 1, 1) + "," + entry(42, 2, 1) + "," + entry(43, 90, 1) +
                             "," + entry(-7, 2, 1) + "," + entry(139, 17, 1));
  EXPECT_THAT(summary(saved), ElementsAre("1: 2 1"));
  EXPECT_EQ(saved.ids.num_foreign, 4);
  EXPECT_THAT(saved.ids.first_foreign, ElementsAre("image 43", "category 2", "image -7"));
  EXPECT_THAT(saved.notes,
              ElementsAre("detections of images or categories that the data set does not have do "
                          "not count; there are 4: image 43, category 2, image -7"));
}

TEST_F(SavedDetectionsTest, OfManyForeignOnesTheFirstTenAreNamed) {
  std::string entries = entry(0, 1, 1);
  for (std::int64_t image = 1; image < 12; ++image) entries += "," + entry(image, 1, 1);
  const auto saved = of_json(entries);
  EXPECT_EQ(saved.ids.num_foreign, 12);
  EXPECT_EQ(saved.ids.first_foreign.size(), 10U);
  ASSERT_EQ(saved.notes.size(), 1U);
  EXPECT_THAT(saved.notes[0], testing::EndsWith("there are 12: image 0, image 1, image 2, image "
                                                "3, image 4, image 5, image 6, image 7, image 8, "
                                                "image 9, …"));
}

TEST_F(SavedDetectionsTest, TenForeignOnesAreAllNamed) {
  std::string entries = entry(0, 1, 1);
  for (std::int64_t image = 1; image < 10; ++image) entries += "," + entry(image, 1, 1);
  EXPECT_THAT(
      of_json(entries + "," + entry(0, 1, 1)).notes,
      ElementsAre(testing::EndsWith("there are 11: image 0, image 1, image 2, image 3, "
                                    "image 4, image 5, image 6, image 7, image 8, image 9")));
}

TEST_F(SavedDetectionsTest, RowsOfPredictionsAreOfTheImagesThatTheyName) {
  write({});
  const auto saved = read("p.h5");
  EXPECT_THAT(summary(saved), ElementsAre("0: 2 0.5", "0: 0 0.75", "2: 1 0.25"));
  EXPECT_EQ(saved.all[2].detection.box, (tasks::Box{5, 6, 7.5, 8}));
  EXPECT_EQ(saved.ids.num_missing, 0);
  EXPECT_THAT(saved.notes, IsEmpty());
}

TEST_F(SavedDetectionsTest, ImagesWithoutARowAreMissingUnlessTheyAreNotScored) {
  Columns columns;
  columns.index = {1};
  columns.image_id = {139};
  columns.offsets = columns.label_offsets = columns.score_offsets = {0, 3};
  write(columns);
  const auto all = read("p.h5");
  EXPECT_EQ(all.ids.num_missing, 2);
  EXPECT_THAT(all.ids.first_missing, ElementsAre("image 42", "image 285"));
  EXPECT_THAT(all.notes,
              ElementsAre("images without a row count as images without detections; there are 2: "
                          "image 42, image 285"));
  EXPECT_EQ(read("p.h5", 2).ids.num_missing, 1);
  EXPECT_THAT(read("p.h5", 1).ids.first_missing, ElementsAre("image 42"));
}

TEST_F(SavedDetectionsTest, OfManyMissingImagesTheFirstTenAreNamed) {
  data::ObjectFile file;
  file.images.clear();
  for (std::int64_t id = 1; id <= 12; ++id) file.images.push_back({.id = id});
  std::filesystem::remove(folder_ / "d.h5");
  file.write(folder_ / "d.h5");
  Columns columns;
  columns.index = columns.image_id = {};
  columns.boxes = columns.scores = {};
  columns.labels = {};
  columns.offsets = columns.label_offsets = columns.score_offsets = {0};
  write(columns);
  const auto saved = read("p.h5", 12);
  EXPECT_EQ(saved.ids.num_missing, 12);
  EXPECT_EQ(saved.ids.first_missing.size(), 10U);
  EXPECT_THAT(saved.notes.at(0), testing::EndsWith("image 9, image 10, …"));
  EXPECT_THAT(read("p.h5", 10).notes.at(0), testing::EndsWith("there are 10: image 1, image 2, "
                                                              "image 3, image 4, image 5, image "
                                                              "6, image 7, image 8, image 9, "
                                                              "image 10"));
}

TEST_F(SavedDetectionsTest, PredictionsOfAnotherDataSetAreNoted) {
  write({}, "ab12");
  EXPECT_THAT(read("p.h5", 3, "ab12").notes, IsEmpty());
  EXPECT_THAT(read("p.h5", 3, "cd34").notes,
              ElementsAre(testing::HasSubstr("another data set, 'train.h5'")));
}

TEST_F(SavedDetectionsTest, ColumnsOfAnotherTaskAreRefused) {
  SavedFile(folder_ / "p.h5", "multiclass").each<std::int64_t>("index", {0}).close();
  expect_error(ErrorKind::dataset,
               {"has no column /box/offsets to score for detection. Name a predictions.h5 that "
                "'tally evaluate' made of this data set with --save labels."},
               [&] { read("p.h5"); });
}

struct Wrong {
  const char* name;
  void (*change)(Columns& columns);
  std::string says;
};

class WrongColumnsTest : public SavedDetectionsTest, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongColumnsTest, AreRefusedWithTheirPlace) {
  Columns columns;
  GetParam().change(columns);
  write(columns);
  expect_error(ErrorKind::dataset, {"p.h5' has " + GetParam().says + ". Name a predictions.h5"},
               [&] { read("p.h5"); });
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr const char* kUnfit = "columns that do not fit each other";

INSTANTIATE_TEST_SUITE_P(
    Columns, WrongColumnsTest,
    testing::Values(
        Wrong{"IndexBehindTheData", [](Columns& c) { c.index[2] = 3; },
              "at /index[2] 3, expected ascending ones of 0 to 2"},
        Wrong{"IndexBelowZero", [](Columns& c) { c.index[0] = -1; },
              "at /index[0] -1, expected ascending ones of 0 to 2"},
        Wrong{"IndexTwice", [](Columns& c) { c.index[1] = 0; },
              "at /index[1] 0, expected ascending ones of 0 to 2"},
        Wrong{"AnotherImage", [](Columns& c) { c.image_id[1] = 140; },
              "at /image_id[1] 140, expected 139"},
        Wrong{"OffsetBelowZero",
              [](Columns& c) { c.offsets[0] = c.label_offsets[0] = c.score_offsets[0] = -1; },
              "at /box/offsets[0] -1, expected ascending places of /box/values"},
        Wrong{"OffsetsDescend",
              [](Columns& c) { c.offsets[2] = c.label_offsets[2] = c.score_offsets[2] = 1; },
              "at /box/offsets[1] 2, expected ascending places of /box/values"},
        Wrong{"OffsetBehindTheEnd",
              [](Columns& c) { c.offsets[3] = c.label_offsets[3] = c.score_offsets[3] = 4; },
              "at /box/offsets[2] 2, expected ascending places of /box/values"},
        Wrong{"OtherLabels", [](Columns& c) { c.label_offsets[1] = 1; },
              "other numbers at /label/offsets than at /box/offsets"},
        Wrong{"OtherScores", [](Columns& c) { c.score_offsets.pop_back(); },
              "other numbers at /score/offsets than at /box/offsets"},
        Wrong{"ClassBehindTheLast", [](Columns& c) { c.labels[2] = 3; },
              "at /label/values[2] 3, expected 0 to 2"},
        Wrong{"ClassBelowZero", [](Columns& c) { c.labels[0] = -1; },
              "at /label/values[0] -1, expected 0 to 2"},
        Wrong{"BoxIsInfinite", [](Columns& c) { c.boxes[7] = kInf; },
              "at /box/values[1] inf, expected a finite number"},
        Wrong{"ScoreIsNan", [](Columns& c) { c.scores[1] = kNan; },
              "at /score/values[1] nan, expected a finite number"},
        Wrong{"FewerLabels", [](Columns& c) { c.labels.pop_back(); }, kUnfit},
        Wrong{"FewerBoxes", [](Columns& c) { c.boxes.resize(8); }, kUnfit},
        Wrong{"FewerRows", [](Columns& c) { c.index.pop_back(); }, kUnfit},
        Wrong{"NoOffsets", [](Columns& c) { c.offsets.clear(); }, kUnfit}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tally::app
