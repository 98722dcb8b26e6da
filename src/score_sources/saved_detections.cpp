// SPDX-License-Identifier: Apache-2.0
#include "saved_detections.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/detection_objects.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "coco_results.hpp"
#include "saved_scores.hpp"

namespace tally::app {
namespace {

// Maps each number to its place; the numbers are all different.
std::unordered_map<std::int64_t, std::int64_t> places_of(const std::vector<std::int64_t>& ids) {
  std::unordered_map<std::int64_t, std::int64_t> places;
  for (const std::int64_t id : ids) places.emplace(id, std::ssize(places));
  return places;
}

// Counts each detection, and lists each image or category once.
void add_foreign(std::string what, SavedDetections& saved) {
  auto& ids = saved.ids;
  ++ids.num_foreign;
  if (std::ranges::find(ids.first_foreign, what) != ids.first_foreign.end()) return;
  saved.lists_all_foreign = ids.first_foreign.size() < kIdsListed;
  if (saved.lists_all_foreign) ids.first_foreign.push_back(std::move(what));
}

// Reads COCO's results. Images behind --limit are not foreign: their detections are left out later.
SavedDetections of_json(const std::string& path, data::DataSet& data_set) {
  const auto images = places_of(data::read_images(data_set, 0, data_set.info().num_samples).id);
  const auto classes = places_of(data::read_class_ids(data_set));
  SavedDetections saved;
  read_coco_results(path, [&](const CocoResult& result) {
    const auto image = images.find(result.image_id);
    const auto label = classes.find(result.category_id);
    if (image == images.end()) {
      return add_foreign(format("image {}", result.image_id), saved);
    }
    if (label == classes.end()) {
      return add_foreign(format("category {}", result.category_id), saved);
    }
    saved.all.push_back(
        {image->second, {result.box, result.score, static_cast<std::int32_t>(label->second)}});
  });
  return saved;
}

// Reads a predictions.h5 of the task detection.
class DetectionFile {
 public:
  DetectionFile(const std::string& path, const data::DataSetInfo& info)
      : file_(predictions::open_predictions(path)),
        info_(info),
        index_expected_(format("ascending ones of 0 to {}", info.num_samples - 1)),
        label_expected_(format("0 to {}", info.num_classes - 1)) {
    for (const char* name : {"/index", "/box/offsets", "/box/values", "/label/offsets",
                             "/label/values", "/score/offsets", "/score/values"}) {
      if (!file_.exists(name))
        throw_dataset_error(format("has no column {} to score for detection", name));
    }
  }

  SavedDetections read() {
    const auto offsets = file_.dataset("/box/offsets").read_all<std::int64_t>();
    boxes_ = file_.dataset("/box/values").read_all<double>();
    labels_ = file_.dataset("/label/values").read_all<std::int32_t>();
    scores_ = file_.dataset("/score/values").read_all<double>();
    indices_ = file_.dataset("/index").read_all<std::int64_t>();
    // A box is four numbers, and the three ragged columns have the same rows. Everything is
    // checked, since a damaged file must not lead outside of what was read.
    const bool fit = offsets.size() == indices_.size() + 1 && labels_.size() == scores_.size() &&
                     boxes_.size() == 4 * scores_.size();
    if (!fit) throw_dataset_error("has columns that do not fit each other");
    for (const char* name : {"/label/offsets", "/score/offsets"}) {
      if (file_.dataset(name).read_all<std::int64_t>() == offsets) continue;
      throw_dataset_error(format("has other numbers at {} than at /box/offsets", name));
    }
    SavedDetections saved;
    std::int64_t before = -1;
    for (std::size_t row = 0; row < indices_.size(); ++row) {
      const std::int64_t index = indices_[row];
      // Ascending indices are there once each, which add_missing() relies on.
      check(index > before && index < info_.num_samples, "/index", row, index, index_expected_);
      before = index;
      check(offsets[row] >= 0 && offsets[row] <= offsets[row + 1] &&
                std::cmp_less_equal(offsets[row + 1], scores_.size()),
            "/box/offsets", row, offsets[row], "ascending places of /box/values");
      for (auto i = to_size(offsets[row]); i < to_size(offsets[row + 1]); ++i) {
        saved.all.push_back({index, detection(i)});
      }
    }
    return saved;
  }

  // Returns the index of each row's image; read() fills them.
  const std::vector<std::int64_t>& indices() const { return indices_; }

  // Rows go by the place of their image: it must be the same one. Files of earlier versions do not
  // say which it is.
  void check_images(data::DataSet& data_set) const {
    if (!file_.exists("/image_id")) return;
    const auto ids = file_.dataset("/image_id").read_all<std::int64_t>();
    const auto known = data::read_images(data_set, 0, info_.num_samples).id;
    for (std::size_t row = 0; row < std::min(ids.size(), indices_.size()); ++row) {
      const std::int64_t expected = known[to_size(indices_[row])];
      check(ids[row] == expected, "/image_id", row, ids[row], format("{}", expected));
    }
  }
  std::string text(std::string_view name) const { return root_text(file_, name); }
  void require_unchanged() const { file_.require_unchanged(); }

 private:
  tasks::Detection detection(std::size_t place) const {
    tasks::Box box{};
    std::copy_n(boxes_.begin() + 4 * static_cast<std::ptrdiff_t>(place), 4, box.begin());
    for (const double x : box) check(std::isfinite(x), "/box/values", place, x, kFinite);
    const double score = scores_[place];
    check(std::isfinite(score), "/score/values", place, score, kFinite);
    const std::int32_t label = labels_[place];
    check(label >= 0 && label < info_.num_classes, "/label/values", place, label, label_expected_);
    return {box, score, label};
  }

  [[noreturn]] void throw_dataset_error(const std::string& problem) const {
    throw Error(ErrorKind::dataset,
                format("predictions file '{}' {}", printable(file_.path().string()), problem),
                "Name a predictions.h5 that 'tally evaluate' made of this data set with --save "
                "labels.");
  }
  template <class T>
  void check(bool is_right, std::string_view column, std::size_t place, T found,
             std::string_view expected) const {
    if (!is_right) {
      throw_dataset_error(format("has at {}[{}] {}, expected {}", column, place, found, expected));
    }
  }

  static constexpr std::string_view kFinite = "a finite number";

  hdf5::Reader file_;
  const data::DataSetInfo& info_;
  std::string index_expected_, label_expected_;
  std::vector<std::int64_t> indices_;
  std::vector<double> boxes_, scores_;
  std::vector<std::int32_t> labels_;
};

// Notes the images that have no row. `indices` are ascending, each once.
void add_missing(std::span<const std::int64_t> indices, std::int64_t num_scored,
                 data::DataSet& data_set, report::IdMatch& ids) {
  auto next = indices.begin();
  for (std::int64_t image = 0; image < num_scored; ++image) {
    if (next != indices.end() && *next == image) {
      ++next;
      continue;
    }
    ++ids.num_missing;
    // Ids are read one by one, because only the first ones are needed.
    if (ids.first_missing.size() >= kIdsListed) continue;
    ids.first_missing.push_back(format("image {}", data::read_images(data_set, image, 1).id[0]));
  }
}

SavedDetections of_hdf5(const std::string& path, data::DataSet& data_set, std::int64_t num_scored,
                        const std::string& data_identity) {
  DetectionFile file(path, data_set.info());
  SavedDetections saved = file.read();
  file.check_images(data_set);
  // Columns that were read one after the other must be of one version of the file.
  file.require_unchanged();
  add_missing(file.indices(), num_scored, data_set, saved.ids);
  const std::string predicted = file.text("data_identity");
  if (!predicted.empty() && predicted != data_identity) {
    saved.notes.push_back(other_data_note(file.text("data")));
  }
  return saved;
}

}  // namespace

SavedDetections read_detections(const std::string& path, data::DataSet& data_set,
                                std::int64_t num_scored, const std::string& data_identity) {
  SavedDetections saved = hdf5::is_hdf5_file(path)
                              ? of_hdf5(path, data_set, num_scored, data_identity)
                              : of_json(path, data_set);
  // Detections of one image keep the order of the file: of equal scores the first one counts.
  std::ranges::stable_sort(saved.all, {}, &SavedDetection::image);
  const auto& ids = saved.ids;
  if (ids.num_foreign > 0) {
    saved.notes.push_back(
        format("detections of images or categories that the data set does not have do not "
               "count; there are {}: {}",
               ids.num_foreign, listed(ids.first_foreign, saved.lists_all_foreign)));
  }
  if (ids.num_missing > 0) {
    saved.notes.push_back(
        format("images without a row count as images without detections; there are {}: {}",
               ids.num_missing,
               listed(ids.first_missing, std::ssize(ids.first_missing) == ids.num_missing)));
  }
  return saved;
}

}  // namespace tally::app
