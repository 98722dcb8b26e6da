// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/tasks/detection_matching.hpp>

#include "batch_tensors.hpp"
#include "column.hpp"
#include "counting_task.hpp"

namespace tally::tasks {
namespace {

using Tensors = std::span<const TensorView>;

// Average precision needs the order of all detections, which no count of a single image gives:
// images are not recounted for subgroups or the bootstrap.
struct DetectionConfig {
  explicit DetectionConfig(const TaskOptions& given)
      : options(given), metrics(given.metrics), resample_metrics(given.metrics) {
    if (!given.save.empty()) columns = detection_columns();
  }

  std::int64_t num_classes() const { return options.metrics.num_classes; }

  TaskOptions options;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;
  std::vector<predictions::ColumnSpec> columns;
  std::vector<predictions::ColumnSpec> retained;  // none: images are not counted again
};

bool is_integer(const TensorView& tensor) {
  return tensor.dtype == DType::i64 || tensor.dtype == DType::i32;
}

// Exporters differ in the integer type of labels and numbers; both are read without a copy.
std::int64_t integer_at(const TensorView& tensor, std::int64_t place) {
  return tensor.dtype == DType::i64 ? tensor.as<const std::int64_t>()[place]
                                    : tensor.as<const std::int32_t>()[place];
}

// Throws Error(model). It names all outputs, because any of them may be the wrong one where their
// order alone says what they are.
[[noreturn]] void refuse_outputs(Tensors outputs) {
  std::vector<std::string> found;
  for (const TensorView& output : outputs) {
    found.push_back(format("{} {}", to_string(output.shape), name(output.dtype)));
  }
  throw Error(ErrorKind::model,
              format("the model returned {}, expected boxes [rows, K, 4] float32, scores [rows, K] "
                     "float32, labels [rows, K] int64 and, if it has them, num_detections [rows] "
                     "int64",
                     fmt::join(found, ", ")),
              "Export it so, or name them in its card: boxes, scores, labels, num_detections "
              "(docs/model-card.md).");
}

// The model's outputs, found by their names or their order.
struct Outputs {
  TensorView boxes;                          // [rows, most, 4]
  TensorView scores;                         // [rows, most]
  TensorView labels;                         // [rows, most]
  std::optional<TensorView> num_detections;  // [rows] or [rows, 1]

  std::int64_t most() const { return scores.shape[1]; }
};

constexpr std::array<std::string_view, 4> kNames{"boxes", "scores", "labels", "num_detections"};

// Returns for each of kNames its place among the outputs, or their number if it is not there. Names
// count if the card has at least one of the four; else the order of kNames is assumed.
std::array<std::size_t, 4> places_of(std::size_t num_outputs,
                                     const std::vector<std::string>& names) {
  std::array<std::size_t, 4> places{0, 1, 2, 3};
  const auto is_named = [&](std::string_view name) { return std::ranges::count(names, name) > 0; };
  if (!std::ranges::any_of(kNames, is_named)) return places;
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = std::min(to_size(std::ranges::find(names, kNames[i]) - names.begin()), num_outputs);
  }
  return places;
}

bool fit_together(const Outputs& found) {
  const Shape& scores = found.scores.shape;
  const bool are_scores = found.scores.dtype == DType::f32 && scores.size() == 2;
  if (!are_scores || found.boxes.dtype != DType::f32 || !is_integer(found.labels)) return false;
  if (found.boxes.shape != Shape{scores[0], scores[1], 4}) return false;
  if (found.labels.shape != scores) return false;
  if (!found.num_detections) return true;
  const Shape& numbers = found.num_detections->shape;
  return is_integer(*found.num_detections) &&
         (numbers == Shape{scores[0]} || numbers == Shape{scores[0], 1});
}

// Throws Error(model) if the outputs are no detections. The number of detections K may differ from
// batch to batch.
Outputs outputs_in(Tensors outputs, const std::vector<std::string>& names) {
  const auto places = places_of(outputs.size(), names);
  if (places[0] >= outputs.size() || places[1] >= outputs.size() || places[2] >= outputs.size()) {
    refuse_outputs(outputs);
  }
  Outputs found{outputs[places[0]], outputs[places[1]], outputs[places[2]], std::nullopt};
  if (places[3] < outputs.size()) found.num_detections = outputs[places[3]];
  if (!fit_together(found)) refuse_outputs(outputs);
  return found;
}

class DetectionScorer : public BatchScorer {
 public:
  DetectionScorer(const DetectionConfig& config, const device::Device& device)
      : config_(config), outputs_(device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const Outputs found = outputs_in(batch.outputs, config_.options.output_names);
    check_num_rows(found.scores.shape[0], batch.num_samples);
    first_index_ = batch.first_index;
    num_samples_ = batch.num_samples;
    counts_ = &counts;
    outputs_.fetch(batch.outputs, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite.clear();
    auto& retained = collected.retained;
    retained.num_rows = num_samples_;
    // The columns are kRetainedBoxes, kRetainedLabels and kRetainedScores, all of them ragged.
    retained.columns.assign(3, {});
    retained.lengths.assign(3, {});
    const Outputs outputs = outputs_in(outputs_.views(), config_.options.output_names);
    for (std::int64_t row = 0; row < num_samples_; ++row) {
      const bool finite = take(outputs, row, retained);
      const metrics::SampleRecord image{static_cast<std::uint64_t>(first_index_ + row), finite};
      if (!finite) collected.not_finite.push_back(first_index_ + row);
      // Only the evidence of samples is counted here. Detections are matched with objects after the
      // loop, because objects are read from tables of the data set, not with the batches.
      config_.metrics.update(std::span(&image, 1), counts_->on_host());
    }
  }

 private:
  // Returns how many of the K places of a sample hold detections. The rest is padding, which models
  // with a fixed K return. Throws Error(model) for a number that cannot be.
  std::int64_t num_detections(const Outputs& outputs, std::int64_t row) const {
    if (!outputs.num_detections) return outputs.most();
    const std::int64_t number = integer_at(*outputs.num_detections, row);
    if (number >= 0 && number <= outputs.most()) return number;
    throw Error(ErrorKind::model,
                format("the model returned num_detections {} for sample {}, expected 0..{}", number,
                       first_index_ + row, outputs.most()));
  }

  // A label below 0 marks a place without a detection; one that is too large is refused, since the
  // State has no counters for it.
  std::int64_t label_of(const Outputs& outputs, std::int64_t row, std::int64_t place) const {
    const std::int64_t label = integer_at(outputs.labels, row * outputs.most() + place);
    if (label < config_.num_classes()) return label;
    throw Error(
        ErrorKind::model,
        format("the model returned label {} for sample {}, the data set's classes are 0..{}", label,
               first_index_ + row, config_.num_classes() - 1),
        "Export a model whose labels are the places of /classes/id.");
  }

  // Appends the detections of one image to the retained columns. Returns false where a score or a
  // box holds NaN or Inf; then nothing is kept of the image, so that its objects count as missed.
  bool take(const Outputs& outputs, std::int64_t row, predictions::RecordBatch& retained) {
    found_.clear();
    const auto* boxes = outputs.boxes.as<const float>() + row * outputs.most() * 4;
    const auto* scores = outputs.scores.as<const float>() + row * outputs.most();
    const auto is_finite = [](float value) { return std::isfinite(value); };
    bool finite = true;
    for (std::int64_t i = 0; i < num_detections(outputs, row); ++i) {
      // Padding is skipped before its values are looked at: they may be NaN.
      if (label_of(outputs, row, i) < 0) continue;
      finite = finite && is_finite(scores[i]) &&
               std::all_of(boxes + 4 * i, boxes + 4 * i + 4, is_finite);
      found_.push_back(i);
    }
    if (!finite) found_.clear();
    for (auto& lengths : retained.lengths) lengths.push_back(std::ssize(found_));
    for (const std::int64_t i : found_) {
      // Boxes stay in pixels of the model's input, as float32; placed() maps them to the annotated
      // image in double, after the loop.
      for (const float x : std::span(boxes + 4 * i, 4))
        append_value(retained.columns[kRetainedBoxes], x);
      append_value(retained.columns[kRetainedLabels],
                   static_cast<std::int32_t>(label_of(outputs, row, i)));
      append_value(retained.columns[kRetainedScores], scores[i]);
    }
    return finite;
  }

  const DetectionConfig& config_;
  HostTensors outputs_;
  std::int64_t first_index_ = 0;
  std::int64_t num_samples_ = 0;
  metrics::DeviceAccumulator* counts_ = nullptr;
  std::vector<std::int64_t> found_;  // of the row in hand: places
};

class DetectionOfObjects : public CountingTask<DetectionConfig>, public DetectionTask {
 public:
  explicit DetectionOfObjects(const TaskOptions& options) : CountingTask(options) {
    if (options.outputs != metrics::OutputKind::logits) {
      throw Error(ErrorKind::usage, "scores of detections are ranked as they are",
                  "Leave out --outputs.");
    }
    if (std::ranges::all_of(options.save, [](auto group) { return group == SaveColumns::labels; }))
      return;
    throw Error(ErrorKind::usage, "the task detection saves detections only",
                "Use --save labels, or --save none.");
  }

  Capabilities capabilities() const override { return {.detections = this}; }
  std::vector<predictions::ColumnSpec> sample_columns() const override {
    return {{"box", DType::f32, {4}, true},
            {"label", DType::i32, {}, true},
            {"score", DType::f32, {}, true}};
  }

  void check_outputs(Tensors outputs) const override {
    outputs_in(outputs, config_.options.output_names);
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<DetectionScorer>(config_, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& /*retained*/) const override {
    // Options with subgroups or the bootstrap are refused or noted before, so that no call comes
    // here.
    throw Error(ErrorKind::internal, "images were to be counted again, of which nothing is kept");
  }

  void count(std::span<const metrics::SampleRecord> images, exact::State& state) const override {
    config_.metrics.update(images, state);
  }
  void count(const ImageMatch& match, exact::State& state) const override {
    config_.metrics.update(std::span(match.objects), state);
    config_.metrics.update(std::span(match.detections), state);
  }
  exact::StateSpan objects(const exact::StateLayout& layout) const override {
    return layout.find("detections.objects");
  }
  exact::StateSpan predicted(const exact::StateLayout& layout) const override {
    return layout.find("detections.predicted");
  }
};

}  // namespace

std::unique_ptr<Task> make_detection(const TaskOptions& options) {
  return std::make_unique<DetectionOfObjects>(options);
}

}  // namespace tally::tasks
