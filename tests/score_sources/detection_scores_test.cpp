// SPDX-License-Identifier: Apache-2.0
// Saved detections given to the ranks of their images.
#include "detection_scores.hpp"

#include "object_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

const std::string kFirst = R"({"image_id":42,"category_id":17,"bbox":[1,2,30,40],"score":0.75})";
const std::string kWrong = R"({"image_id":139,"category_id":90,"bbox":[0,0,10,10],"score":0.5})";
const std::string kLast = R"({"image_id":285,"category_id":90,"bbox":[5,6,7.5,8],"score":0.25})";

// Three images, of which the second shows nothing: one object of class 17, one of 90, none of 1.
class DetectionScoresTest : public ScoreTest {
 protected:
  DetectionScoresTest() { use_data(objects()); }

  static data::ObjectFile objects() {
    data::ObjectFile file;
    file.images = {{.id = 42, .objects = {{{1, 2, 30, 40}, 2, 0, 1024}}},
                   {.id = 139},
                   {.id = 285, .objects = {{{5, 6, 7.5, 8}, 1, 0, 59.75}}}};
    return file;
  }
  std::string save(const std::string& name, const std::vector<std::string>& entries) {
    std::string text;
    for (const auto& entry : entries) text += (text.empty() ? "[" : ",") + entry;
    return text_file(name, entries.empty() ? "[]" : text + "]");
  }
  // Collective. detections.json without its brackets, on rank 0.
  std::string results_of(const Scored& scored) {
    return all_ranks(texts_in(scored.local.texts.value(), "detections.json", ""));
  }
};

// Class 17 is found at once; of class 90 the better detection is wrong, so that its precision is
// 1/2 at every recall. Class 1 has no objects. COCO adds an epsilon to denominators.
TEST_F(DetectionScoresTest, EachRankMatchesThoseOfItsImages) {
  const auto path = save("r.json", {kLast, kFirst, kWrong});
  std::string first_digest;
  for (const std::int64_t batch_size : {1, 2, 3}) {
    const auto scored = score(path, batch_size);
    EXPECT_EQ(scored.results().units.count, 3);
    if (!world().is_root()) continue;
    EXPECT_NEAR(value_of(scored, "ap").value(), 0.75, 1e-12);
    EXPECT_NEAR(value_of(scored, "ap50").value(), 0.75, 1e-12);
    EXPECT_EQ(value_of(scored, "ar100"), 1.0);
    EXPECT_NEAR(scored.results().per_class.at(1).value("ap").value(), 0.5, 1e-12);
    if (first_digest.empty()) first_digest = scored.global.state_digest;
    EXPECT_EQ(scored.global.state_digest, first_digest) << batch_size;
  }
}

TEST_F(DetectionScoresTest, ResultsAreWrittenInTheOrderOfTheImages) {
  const auto all = save("all.json", {kLast, kWrong, kFirst});
  const auto last = save("last.json", {kLast});
  for (const std::int64_t batch_size : {1, 2}) {
    const auto of_all = results_of(score(all, batch_size));
    const auto of_last = results_of(score(last, batch_size));
    if (!world().is_root()) continue;
    EXPECT_EQ(of_all, "\n" + kFirst + ",\n" + kWrong + ",\n" + kLast);
    EXPECT_EQ(of_last, "\n" + kLast) << "whichever rank has it";
  }
}

TEST_F(DetectionScoresTest, ADetectionThatIsThereTwiceIsRightOnce) {
  const auto scored = score(save("r.json", {kFirst, kLast, kFirst}), 2);
  if (!world().is_root()) return;
  EXPECT_EQ(scored.results().per_class.at(2).predicted, 2);
  EXPECT_EQ(scored.results().per_class.at(2).support, 1);
  EXPECT_NEAR(value_of(scored, "ap").value(), 1, 1e-12) << "the second comes when all is found";
}

TEST_F(DetectionScoresTest, WithoutDetectionsNothingIsFound) {
  const auto scored = score(save("r.json", {}));
  EXPECT_EQ(scored.results().units.count, 3);
  EXPECT_EQ(results_of(scored), "");
  if (!world().is_root()) return;
  EXPECT_EQ(value_of(scored, "ap"), 0.0);
  EXPECT_EQ(scored.ids.value().num_missing, 0);
}

TEST_F(DetectionScoresTest, DetectionsBehindALimitAreLeftOut) {
  config_.scoring.limit = 1;
  const auto scored = score(save("r.json", {kLast, kFirst, kWrong}));
  EXPECT_EQ(scored.results().units.count, 1);
  const auto written = results_of(scored);
  if (!world().is_root()) return;
  EXPECT_NEAR(value_of(scored, "ap").value(), 1, 1e-12);
  EXPECT_EQ(scored.results().per_class.at(1).predicted, 0);
  EXPECT_EQ(written, "\n" + kFirst);
  EXPECT_EQ(scored.ids.value().num_foreign, 0);
}

// A file of the first image alone.
TEST_F(DetectionScoresTest, ImagesWithoutARowAreMissingWhereTheyAreScored) {
  const auto path = file("p.h5", [](const std::filesystem::path& there) {
    SavedFile saved(there, "detection");
    saved.each<std::int64_t>("index", {0}).put<double>("box/values", {1, 4}, {1, 2, 30, 40});
    saved.each<std::int32_t>("label/values", {2}).each<double>("score/values", {0.75});
    for (const char* column : {"box", "label", "score"}) {
      saved.each<std::int64_t>(std::string(column) + "/offsets", {0, 1});
    }
    saved.close();
  });
  for (const std::int64_t limit : {0, 1, 9}) {
    config_.scoring.limit = limit;
    const auto scored = score(path);
    if (!world().is_root()) continue;
    EXPECT_EQ(scored.ids.value().num_missing, limit == 1 ? 0 : 2) << limit;
    EXPECT_NEAR(value_of(scored, "ap").value(), limit == 1 ? 1 : 0.5, 1e-12) << limit;
  }
}

TEST_F(DetectionScoresTest, RankZeroKnowsTheForeignOnes) {
  const std::string foreign = R"({"image_id":7,"category_id":1,"bbox":[0,0,1,1],"score":1})";
  const auto scored = score(save("r.json", {foreign, kFirst}));
  if (world().is_root()) {
    EXPECT_EQ(scored.ids.value().num_foreign, 1);
    EXPECT_THAT(scored.ids.value().first_foreign, ElementsAre("image 7"));
  }
  EXPECT_EQ(notes_.all().size(), world().is_root() ? 1U : 0U);
}

TEST_F(DetectionScoresTest, AFileThatIsNoneEndsAllRanksAlike) {
  EXPECT_THAT(refusal_of(ErrorKind::dataset, [&] { open(text_file("r.json", "[{]")); }),
              testing::HasSubstr("r.json' is no JSON at byte"));
}

// Image i has the object and the detection of the size i + 1; the file has them in reverse.
TEST_F(DetectionScoresTest, ManyImagesKeepTheirDetections) {
  data::ObjectFile file;
  file.images.clear();
  std::vector<std::string> entries;
  for (std::int64_t id = 0; id < 150; ++id) {
    const auto size = static_cast<double>(1 + id);
    file.images.push_back({.id = id, .objects = {{{0, 0, size, size}, 0, 0, size * size}}});
    entries.push_back(R"({"image_id":)" + std::to_string(149 - id) + R"(,"category_id":1,"bbox":)" +
                      "[0,0," + std::to_string(150 - id) + "," + std::to_string(150 - id) +
                      R"(],"score":0.5})");
  }
  use_data(file);
  const auto scored = score(save("r.json", entries), 7);
  if (!world().is_root()) return;
  EXPECT_EQ(scored.results().per_class.at(0).predicted, 150);
  EXPECT_NEAR(value_of(scored, "ap").value(), 1, 1e-12) << "of its image each has the very box";
}

}  // namespace
}  // namespace tally::app
