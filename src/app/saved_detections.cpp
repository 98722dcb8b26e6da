#include "saved_detections.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/objects.hpp>
#include <tally/hdf5/reader.hpp>

#include "coco_results.hpp"
#include "job.hpp"
#include "saved_scores.hpp"

namespace tally::app {
namespace {

constexpr std::size_t kIdsListed = 10;

// Places of numbers that are all different.
std::unordered_map<std::int64_t, std::int64_t> places_of(const std::vector<std::int64_t>& ids) {
  std::unordered_map<std::int64_t, std::int64_t> places;
  for (const std::int64_t id : ids) places.emplace(id, std::ssize(places));
  return places;
}

void add_foreign(std::string what, report::IdMatch& ids) {
  ++ids.num_foreign;
  if (ids.first_foreign.size() >= kIdsListed) return;
  if (std::ranges::find(ids.first_foreign, what) != ids.first_foreign.end()) return;
  ids.first_foreign.push_back(std::move(what));
}

SavedDetections of_json(const std::string& path, data::DataSet& data_set) {
  const auto images = places_of(data::read_images(data_set, 0, data_set.info().num_samples).id);
  const auto classes = places_of(data::read_class_ids(data_set));
  SavedDetections saved;
  read_coco_results(path, [&](const CocoResult& result) {
    const auto image = images.find(result.image_id);
    const auto label = classes.find(result.category_id);
    if (image == images.end()) {
      return add_foreign(format("image {}", result.image_id), saved.ids);
    }
    if (label == classes.end()) {
      return add_foreign(format("category {}", result.category_id), saved.ids);
    }
    saved.all.push_back(
        {image->second, {result.box, result.score, static_cast<std::int32_t>(label->second)}});
  });
  return saved;
}

// predictions.h5 of the task.
class DetectionFile {
 public:
  explicit DetectionFile(const std::string& path) : file_(open_predictions(path)) {
    for (const char* name :
         {"/index", "/box/offsets", "/box/values", "/label/values", "/score/values"}) {
      if (!file_.exists(name)) refuse(format("has no column {} to score for detection", name));
    }
  }

  SavedDetections read(const data::DataSetInfo& info) const {
    const auto indices = file_.dataset("/index").read_all<std::int64_t>();
    const auto offsets = file_.dataset("/box/offsets").read_all<std::int64_t>();
    const auto boxes = file_.dataset("/box/values").read_all<double>();
    const auto labels = file_.dataset("/label/values").read_all<std::int32_t>();
    const auto scores = file_.dataset("/score/values").read_all<double>();
    if (offsets.size() != indices.size() + 1 || labels.size() != scores.size() ||
        boxes.size() != 4 * scores.size()) {
      refuse("has columns that do not fit each other");
    }
    SavedDetections saved;
    for (std::size_t row = 0; row < indices.size(); ++row) {
      check(indices[row] >= 0 && indices[row] < info.num_samples, "/index", row);
      check(offsets[row] >= 0 && offsets[row] <= offsets[row + 1] &&
                std::cmp_less_equal(offsets[row + 1], scores.size()),
            "/box/offsets", row);
      for (auto i = to_size(offsets[row]); i < to_size(offsets[row + 1]); ++i) {
        tasks::Box box{};
        std::copy_n(boxes.begin() + 4 * static_cast<std::ptrdiff_t>(i), 4, box.begin());
        check(labels[i] >= 0 && labels[i] < info.num_classes, "/label/values", i);
        check(std::isfinite(scores[i]), "/score/values", i);
        check(std::ranges::all_of(box, [](double x) { return std::isfinite(x); }), "/box/values",
              i);
        saved.all.push_back({indices[row], {box, scores[i], labels[i]}});
      }
    }
    return saved;
  }

  std::string attribute(std::string_view name) const {
    return file_.has_attribute("/", name) ? file_.string_attribute("/", name) : std::string();
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::dataset,
                format("predictions file '{}' {}", printable(file_.path().string()), problem),
                "Name a predictions.h5 that 'tally evaluate' made of this data set with --save "
                "labels.");
  }
  void check(bool is_right, std::string_view column, std::size_t place) const {
    if (!is_right) refuse(format("has at {}[{}] what the data set does not know", column, place));
  }

  hdf5::Reader file_;
};

SavedDetections of_hdf5(const std::string& path, const data::DataSetInfo& info,
                        const std::string& data_identity) {
  const DetectionFile file(path);
  SavedDetections saved = file.read(info);
  const std::string predicted = file.attribute("data_identity");
  if (!predicted.empty() && predicted != data_identity) {
    saved.notes.push_back(other_data_note(file.attribute("data")));
  }
  return saved;
}

}  // namespace

SavedDetections read_detections(const std::string& path, data::DataSet& data_set,
                                const std::string& data_identity) {
  SavedDetections saved =
      is_hdf5(path) ? of_hdf5(path, data_set.info(), data_identity) : of_json(path, data_set);
  std::ranges::stable_sort(saved.all, {}, &SavedDetection::image);
  const auto& ids = saved.ids;
  if (ids.num_foreign > 0) {
    const bool lists_all = ids.first_foreign.size() < kIdsListed;
    saved.notes.push_back(
        format("{} detections are of images or categories that the data set does "
               "not have, and do not count: {}{}",
               ids.num_foreign, fmt::join(ids.first_foreign, ", "), lists_all ? "" : ", …"));
  }
  return saved;
}

std::vector<SavedDetection> share_detections(const comm::Communicator& comm, const Job& job) {
  const std::span<const SavedDetection> all(job.saved_detections->all);
  std::vector<std::int64_t> counts;
  std::size_t num_sent = 0;
  for (int rank = 0; rank < comm.world_size(); ++rank) {
    const auto samples = job.grid->samples_of(job.grid->slice_of(rank, comm.world_size()));
    const auto end = std::ranges::lower_bound(all, samples.end(), {}, &SavedDetection::image);
    const auto until = std::max(num_sent, to_size(end - all.begin()));
    counts.push_back(std::ssize(all.subspan(num_sent, until - num_sent)));
    num_sent = until;
  }
  const auto bytes =
      comm.all_to_all_rows(std::as_bytes(all.first(num_sent)), sizeof(SavedDetection), counts);
  std::vector<SavedDetection> mine;
  comm::agree_on(comm, [&] {
    mine.resize(bytes.size() / sizeof(SavedDetection));
    if (!bytes.empty()) std::memcpy(mine.data(), bytes.data(), bytes.size());
  });
  return mine;
}

}  // namespace tally::app
