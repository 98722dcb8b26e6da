// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/matched_detections.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/detection_objects.hpp>
#include <tally/distributed_metrics/detection_average_precision.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/session/local_result.hpp>
#include <tally/tasks/detection_matching.hpp>

namespace tally::app {
namespace {

using metrics::DetectionRecord;
using predictions::PredictionLog;
using predictions::RecordBatch;
using tasks::Detection;

// Objects and detections of so many images are held at a time.
constexpr std::int64_t kImagesAtATime = 64;

constexpr const char* kResultsFile = "detections.json";

tasks::Box box_of(const data::Box& box) { return {box.x, box.y, box.width, box.height}; }

tasks::Placement placement_of(const data::Placement& there) {
  return {there.scale_x, there.scale_y, there.offset_x, there.offset_y};
}

std::vector<tasks::ImageObject> objects_of(const data::Objects& objects, std::int64_t image) {
  std::vector<tasks::ImageObject> of_image;
  for (auto i = to_size(objects.offsets[to_size(image)]);
       i < to_size(objects.offsets[to_size(image) + 1]); ++i) {
    of_image.push_back(
        {box_of(objects.box[i]), objects.area[i], objects.label[i], objects.crowd[i] != 0});
  }
  return of_image;
}

// Holds the detections of some images that follow one another, as the loop retained them. The log
// finds elements of a ragged column by their number, so that `first_element` is the number of
// detections of all earlier images of this rank.
class RetainedWindow {
 public:
  RetainedWindow(const PredictionLog& log, std::int64_t first, std::int64_t count,
                 std::int64_t first_element)
      : lengths_(to_size(count)) {
    log.read_lengths(tasks::kRetainedBoxes, first, count,
                     std::as_writable_bytes(std::span(lengths_)));
    num_elements_ = std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{0});
    const auto read = [&](std::int64_t column, auto& values, std::int64_t each) {
      values.resize(to_size(num_elements_ * each));
      log.read_elements(column, first_element, num_elements_,
                        std::as_writable_bytes(std::span(values)));
    };
    read(tasks::kRetainedBoxes, boxes_, 4);
    read(tasks::kRetainedLabels, labels_, 1);
    read(tasks::kRetainedScores, scores_, 1);
  }

  std::int64_t num_elements() const { return num_elements_; }

  // Returns the detections of the next image, placed in the annotated image.
  std::vector<Detection> next(const tasks::Placement& placement) {
    std::vector<Detection> found;
    for (const std::size_t end = next_ + to_size(lengths_[image_++]); next_ < end; ++next_) {
      const std::span<const float, 4> corners(boxes_.data() + 4 * next_, 4);
      found.push_back({tasks::placed(corners, placement), scores_[next_], labels_[next_]});
    }
    return found;
  }

 private:
  std::vector<std::int64_t> lengths_;
  std::int64_t num_elements_ = 0;
  std::vector<float> boxes_, scores_;
  std::vector<std::int32_t> labels_;
  std::size_t image_ = 0, next_ = 0;
};

// Hands out the saved detections of this rank's images, which are sorted by image.
class SavedWindow {
 public:
  explicit SavedWindow(std::span<const SavedDetection> all) : rest_(all) {}

  // Is called with the images in ascending order: what was returned is passed over.
  std::vector<Detection> of_image(std::int64_t image) {
    std::vector<Detection> found;
    for (; !rest_.empty() && rest_.front().image == image; rest_ = rest_.subspan(1)) {
      found.push_back(rest_.front().detection);
    }
    return found;
  }

 private:
  std::span<const SavedDetection> rest_;
};

// Matches one rank's images in the order of their samples, and fills `units` with what comes of it.
class ImageMatcher {
 public:
  // first_in_results: no rank before this one has a detection.
  ImageMatcher(const EvaluationSession& session, const LocalSamples& samples, LocalUnits& units,
               const std::vector<SavedDetection>* saved, bool first_in_results)
      : session_(session),
        task_(*session.scoring.capabilities().detections),
        retained_(samples.retained),
        units_(units),
        rows_(units.detections.emplace(
            empty_log(session, {{"match", DType::u8, {sizeof(DetectionRecord)}}}))),
        texts_(units.texts.emplace(empty_log(session, text_columns(session)))),
        class_ids_(data::read_class_ids(*session.data.set)),
        separator_(first_in_results ? "\n" : ",\n") {
    if (saved != nullptr) saved_.emplace(*saved);
  }

  void run() {
    const auto samples = session_.plan.grid->samples_of(session_.plan.slice);
    for (std::int64_t first = samples.first; first < samples.end(); first += kImagesAtATime) {
      take({first, std::min(kImagesAtATime, samples.end() - first)});
    }
  }

 private:
  static std::vector<predictions::ColumnSpec> text_columns(const EvaluationSession& session) {
    if (session.scoring.task->columns().empty()) return {};
    return {{kResultsFile, DType::u8, {}, true}};
  }

  void take(plan::SampleRange samples) {
    const auto images = data::read_images(*session_.data.set, samples.first, samples.count);
    const auto objects = data::read_objects(*session_.data.set, samples.first, samples.count);
    std::optional<RetainedWindow> retained;
    if (!saved_) {
      retained.emplace(retained_, samples.first - units_.first_index, samples.count, num_read_);
      num_read_ += retained->num_elements();
    }
    for (std::int64_t i = 0; i < samples.count; ++i) {
      const auto found = retained ? retained->next(placement_of(images.placement[to_size(i)]))
                                  : saved_->of_image(samples.first + i);
      require_finite(found, samples.first + i);
      const auto matched = tasks::match(samples.first + i, objects_of(objects, i), found);
      task_.count(matched, units_.state);
      retain(matched);
      record({samples.first + i, images.id[to_size(i)]}, found, matched);
    }
  }

  // Throws Error(dataset). Boxes of a model and of a file are finite already, but placing a box in
  // the annotated image may lead it out of range.
  static void require_finite(std::span<const Detection> found, std::int64_t image) {
    const auto is_finite = [](double x) { return std::isfinite(x); };
    for (const Detection& one : found) {
      if (std::ranges::all_of(one.box, is_finite)) continue;
      throw Error(
          ErrorKind::dataset,
          format("/images/placement[{}] makes a box of the model that is not finite", image),
          "Prepare the data set again (data_tools/SCHEMA.md).");
    }
  }

  // Retains one record of plain data for each detection: average precision needs them in the order
  // of their scores over all ranks.
  void retain(const tasks::ImageMatch& matched) {
    RecordBatch rows;
    rows.num_rows = std::ssize(matched.detections);
    const auto bytes = std::as_bytes(std::span(matched.detections));
    rows.columns.emplace_back(bytes.begin(), bytes.end());
    rows_.append(rows);
  }

  void record(const tasks::ImageName& image, std::span<const Detection> found,
              const tasks::ImageMatch& matched) {
    if (units_.log.columns().empty()) return;
    RecordBatch records, lines;
    append_detections(image, found, matched, records);
    units_.log.append(records);
    // An image is one row of the text, which has all its detections, maybe none. The separator
    // stands before a line, so that rank 0 can join the texts of all ranks as they are.
    std::string text;
    for (const Detection& one : found) {
      text += separator_ + tasks::result_json(image.id, class_ids_[to_size(one.label)], one);
      separator_ = ",\n";
    }
    const auto bytes = std::as_bytes(std::span(text));
    lines.num_rows = 1;
    lines.columns.emplace_back(bytes.begin(), bytes.end());
    lines.lengths.push_back({std::ssize(text)});
    texts_.append(lines);
  }

  const EvaluationSession& session_;
  const tasks::DetectionTask& task_;
  const PredictionLog& retained_;
  LocalUnits& units_;
  std::optional<SavedWindow> saved_;  // in place of what the loop kept
  PredictionLog &rows_, &texts_;
  std::vector<std::int64_t> class_ids_;
  std::string separator_;  // before the next line of the results
  std::int64_t num_read_ = 0;
};

distributed_metrics::DetectionRows rows_of(const LocalUnits& local) {
  const PredictionLog& log = *local.detections;
  return {.num_rows = log.num_rows(),
          .read = [&log](std::int64_t first, std::int64_t count, std::span<DetectionRecord> rows) {
            log.read(0, first, count, std::as_writable_bytes(rows));
          }};
}

// Puts values before the metrics that are counted, which is COCO's order.
void put_first(std::vector<metrics::MetricValue> values, std::vector<metrics::MetricValue>& all) {
  all.insert(all.begin(), values.begin(), values.end());
}

}  // namespace

LocalUnits match_detections(const comm::Communicator& comm, const EvaluationSession& session,
                            LocalSamples samples, const std::vector<SavedDetection>* saved) {
  // A rank's first line of detections.json needs a comma before it if any earlier rank has a
  // detection.
  const auto counts =
      comm.all_gather(saved != nullptr ? std::ssize(*saved)
                                       : samples.retained.num_elements(tasks::kRetainedScores));
  const auto before = std::span(counts).first(to_size(comm.rank()));
  const bool is_first = std::ranges::all_of(before, [](std::int64_t n) { return n == 0; });
  std::optional<LocalUnits> units;
  comm::agree_on(comm, [&] {
    // Nothing is retained: neither subgroups nor the bootstrap count detections once more.
    units = units_of(samples, empty_log(session, session.scoring.task->columns()),
                     empty_log(session, {}));
    ImageMatcher(session, samples, *units, saved, is_first).run();
  });
  return std::move(*units);
}

void add_average_precisions(const comm::Communicator& comm, const EvaluationSession& session,
                            const LocalUnits& local, metrics::Results& results,
                            digest::Sha256& digest) {
  const auto& names = session.scoring.task->metrics();
  const bool wants_any =
      std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("ap"); });
  if (session.scoring.capabilities().detections == nullptr || !wants_any) return;
  const auto& task = *session.scoring.capabilities().detections;
  const auto& layout = local.state.layout();
  const auto found = distributed_metrics::average_precisions(
      comm, rows_of(local),
      {local.state.of(task.objects(layout)), local.state.of(task.predicted(layout))});
  digest.update(std::as_bytes(std::span(found.evidence)));
  std::vector<metrics::MetricValue> values{{"ap", found.ap},
                                           {"ap50", found.ap50},
                                           {"ap75", found.ap75},
                                           {"ap_small", found.ap_small},
                                           {"ap_medium", found.ap_medium},
                                           {"ap_large", found.ap_large}};
  std::erase_if(values, [&](const auto& value) { return !metrics::contains(names, value.name); });
  put_first(std::move(values), results.metrics);
  for (std::size_t c = 0; c < results.per_class.size(); ++c) {
    put_first({{"ap", found.classes[c].ap}, {"ap50", found.classes[c].ap50}},
              results.per_class[c].values);
  }
}

}  // namespace tally::app
