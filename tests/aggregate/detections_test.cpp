// SPDX-License-Identifier: Apache-2.0
// Detections held against the objects of images that lie on several ranks.
#include <tally/aggregate/matched_detections.hpp>

#include <array>
#include <numeric>

#include <tally/aggregate/global_result.hpp>

#include "aggregate_fixture.hpp"
#include "object_file.hpp"

namespace tally::app {
namespace {

// A detection of a model: corners x1, y1, x2, y2 in its input.
struct Found {
  std::array<float, 4> corners{};
  std::int32_t label = 0;
  float score = 0;
};
using OfImages = std::vector<std::vector<Found>>;

// The model's input is half as large as the first image, and lies 4 pixels below its upper border.
data::ObjectFile objects() {
  data::ObjectFile file;
  file.images = {{.id = 42, .placement = {2, 2, 0, -4}, .objects = {{{1, 2, 30, 40}, 2, 0, 1024}}},
                 {.id = 139},
                 {.id = 285, .objects = {{{5, 6, 7.5, 8}, 1, 0, 59.75}}}};
  return file;
}

// The two objects, and between them one that is not there.
OfImages detections() {
  return {{{{0.5F, 3, 15.5F, 23}, 2, 0.75F}},
          {{{0, 0, 10, 10}, 1, 0.5F}},
          {{{5, 6, 12.5F, 14}, 1, 0.25F}}};
}

class DetectionsTest : public AggregateTest {
 protected:
  EvaluationSession open_images(const std::vector<std::string>& metrics = {}) {
    return open(objects(), {.metrics = {.names = metrics}, .save = {tasks::SaveColumns::labels}});
  }
  // What the loop leaves: images are counted, detections are retained.
  LocalSamples retain_found(const EvaluationSession& session, const OfImages& found) {
    auto samples = empty_samples(session, {}, session.scoring.task->sample_columns());
    const auto own = own_samples(session);
    for (std::int64_t i = own.first; i < own.end(); ++i) {
      const metrics::SampleRecord image{.index = static_cast<std::uint64_t>(i)};
      session.scoring.capabilities().detections->count({&image, 1}, samples.state);
      predictions::RecordBatch row;
      row.num_rows = 1;
      row.columns.resize(3);
      const auto& of_image = found.at(to_size(i));
      row.lengths.assign(3, {std::ssize(of_image)});
      for (const Found& one : of_image) {
        append(one.corners, row.columns[tasks::kRetainedBoxes]);
        append(one.label, row.columns[tasks::kRetainedLabels]);
        append(one.score, row.columns[tasks::kRetainedScores]);
      }
      samples.retained.append(row);
    }
    return samples;
  }
  LocalUnits match(const EvaluationSession& session, const OfImages& found) {
    return match_detections(world(), session, retain_found(session, found), nullptr);
  }
  // Collective. detections.json without its brackets, on rank 0.
  std::string text(const LocalUnits& local) {
    const auto parts = world().gather(text_of(local.texts.value(), 0));
    return std::accumulate(parts.begin(), parts.end(), std::string());
  }
  metrics::Results results_of(const EvaluationSession& session, LocalUnits& local,
                              digest::Sha256& digest) {
    auto results = merge_results(world(), session, local).results;
    add_average_precisions(world(), session, local, results, digest);
    return results;
  }

 private:
  template <class T>
  static void append(const T& value, std::vector<std::byte>& column) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    column.insert(column.end(), bytes.begin(), bytes.end());
  }
};

// Class 2 is found at once; of class 1 the better detection is wrong, so that its precision is 1/2
// at every recall. Class 0 has no objects. Precisions are those of COCO's evaluation, which adds an
// epsilon to their denominators.
TEST_F(DetectionsTest, AveragePrecisionIsThatOfAllRanks) {
  std::string of_first_batch_size;
  for (const std::int64_t batch_size : {1, 2, 3}) {
    batch_size_ = batch_size;
    const auto session = open_images();
    auto local = match(session, detections());
    digest::Sha256 digest;
    const auto results = results_of(session, local, digest);
    EXPECT_EQ(results.units.count, 3);
    EXPECT_EQ(results.metrics.front().name, "ap") << "first, as COCO lists them";
    for (const char* name : {"ap", "ap50", "ap75", "ap_small"}) {
      EXPECT_NEAR(value_of(results, name).value(), 0.75, 1e-12) << name;
    }
    EXPECT_NEAR(value_of(results, "ap_medium").value(), 1, 1e-12) << "an area of 1024 is both";
    EXPECT_EQ(value_of(results, "ap_large"), std::nullopt);
    EXPECT_EQ(value_of(results, "ar100"), 1.0);
    EXPECT_EQ(results.per_class.at(0).value("ap"), std::nullopt);
    EXPECT_NEAR(results.per_class.at(1).value("ap50").value(), 0.5, 1e-12);
    EXPECT_NEAR(results.per_class.at(2).value("ap").value(), 1, 1e-12);
    if (of_first_batch_size.empty()) of_first_batch_size = digest.hex();
    EXPECT_EQ(digest.hex(), of_first_batch_size);
  }
}

TEST_F(DetectionsTest, RecordsSayWhatIsRight) {
  const auto session = open_images();
  const auto local = match(session, detections());
  using Integers = std::vector<std::int64_t>;
  expect_on_all_ranks(column_of<std::int64_t>(local.log, 0), Integers{1, 0, 1});  // annotated
  expect_on_all_ranks(column_of<std::int64_t>(local.log, 2), Integers{1, 0, 1});  // correct
  expect_on_all_ranks(column_of<std::int64_t>(local.log, 3), Integers{42, 139, 285});
}

// More than are read at a time. Image i has no detection, its object, or this and another one.
TEST_F(DetectionsTest, ManyImagesKeepTheirOrder) {
  data::ObjectFile file;
  file.images.clear();
  OfImages found;
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 150; ++i) {
    const auto x = static_cast<float>(20 * i);
    file.images.push_back({.id = i, .objects = {{{x, 0, 10, 10}, 1, 0, 100}}});
    found.emplace_back(2, Found{{x, 0, x + 10, 10}, 1, 0.5F});
    found.back()[1].corners = {x, 500, x + 10, 510};
    found.back().resize(to_size(i % 3));
    expected.push_back(i % 3 == 0 ? 0 : 1);
  }
  const auto session = open(file, {.save = {tasks::SaveColumns::labels}});
  auto local = match(session, found);
  expect_on_all_ranks(column_of<std::int64_t>(local.log, 2), expected);  // correct
  EXPECT_EQ(merge_results(world(), session, local).results.units.count, 150);
}

TEST_F(DetectionsTest, TextsOfAllRanksMakeOneList) {
  const auto session = open_images();
  const std::string first = R"({"image_id":42,"category_id":17,"bbox":[1,2,30,40],"score":0.75})",
                    last = R"({"image_id":285,"category_id":90,"bbox":[5,6,7.5,8],"score":0.25})";
  auto found = detections();
  found[1].clear();
  const auto two = text(match(session, found));
  found[0].clear();
  const auto one = text(match(session, found));
  found[2].clear();
  const auto none = text(match(session, found));
  if (!world().is_root()) return;
  EXPECT_EQ(two, "\n" + first + ",\n" + last);
  EXPECT_EQ(one, "\n" + last) << "whichever rank has it";
  EXPECT_EQ(none, "");
}

TEST_F(DetectionsTest, SavedOnesTakeThePlaceOfTheModels) {
  const std::vector<SavedDetection> all{{0, {{1, 2, 30, 40}, 0.75, 2}},
                                        {1, {{0, 0, 10, 10}, 0.5, 1}},
                                        {2, {{5, 6, 7.5, 8}, 0.25, 1}}};
  const auto session = open_images();
  auto of_model = match(session, detections());
  const auto own = own_samples(session);
  std::vector<SavedDetection> saved;
  for (const auto& one : all) {
    if (one.image >= own.first && one.image < own.end()) saved.push_back(one);
  }
  auto of_saved = match_detections(world(), session, retain_found(session, OfImages(3)), &saved);
  EXPECT_EQ(text(of_saved), text(of_model));
  digest::Sha256 model_digest, saved_digest;
  results_of(session, of_model, model_digest);
  results_of(session, of_saved, saved_digest);
  EXPECT_EQ(saved_digest.hex(), model_digest.hex());
}

TEST_F(DetectionsTest, APlacementThatMakesABoxInfiniteIsRefused) {
  auto file = objects();
  file.images[2].placement = {1e308, 1, 0, 0};
  const auto session = open(file);
  EXPECT_EQ(refusal_of(ErrorKind::dataset, [&] { match(session, detections()); }),
            "/images/placement[2] makes a box of the model that is not finite. Prepare the data "
            "set again (data_tools/SCHEMA.md).");
}

TEST_F(DetectionsTest, OnlyWantedMetricsAreAdded) {
  for (const std::string_view wanted : {"ap50", "ar1"}) {
    const auto session = open_images({std::string(wanted)});
    auto local = match(session, detections());
    digest::Sha256 digest;
    const auto results = results_of(session, local, digest);
    ASSERT_EQ(results.metrics.size(), 1U);
    EXPECT_EQ(results.metrics[0].name, wanted);
    EXPECT_EQ(digest.hex() == digest::Sha256().hex(), wanted == "ar1");
  }
}

}  // namespace
}  // namespace tally::app
