// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/segmentation_pass.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"
#include "sample_scorer.hpp"

namespace tally::tasks {
namespace {

using metrics::SegmentationRecord;

std::int64_t sum_of(const std::int64_t* counts, std::int64_t num_classes) {
  return std::accumulate(counts, counts + num_classes, std::int64_t{0});
}

void fill_index(const SegmentationRecord& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = static_cast<std::int64_t>(row.index);
}

void fill_pixels(const SegmentationRecord& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = sum_of(row.support, row.num_classes);
}

void fill_correct(const SegmentationRecord& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = sum_of(row.correct, row.num_classes);
}

// The width of `out` says which type mask_type() chose. A pixel without a prediction is -1, which
// as uint8 becomes 255.
void fill_mask(const SegmentationRecord& row, std::span<std::byte> out) {
  if (std::ssize(out) == row.num_pixels) {
    std::transform(row.predictions, row.predictions + row.num_pixels, out.begin(),
                   [](std::int32_t prediction) { return static_cast<std::byte>(prediction); });
  } else {
    std::copy_n(row.predictions, row.num_pixels, values_in<std::int32_t>(out).begin());
  }
}

void fill_counts(const SegmentationRecord& row, std::span<std::byte> out) {
  // The counts of predictions and of hits lie in memory behind `support`: see
  // metrics::MaskCounts::kept().
  std::copy_n(row.support, 3 * row.num_classes, values_in<std::int64_t>(out).begin());
}

void fill_finite(const SegmentationRecord& row, std::span<std::byte> out) {
  out[0] = std::byte{row.finite};
}

using MaskColumn = Column<SegmentationRecord>;

struct SegmentationConfig {
  explicit SegmentationConfig(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        resample_metrics(without_matrix(metrics.options())) {
    const bool saves_masks = is_saved(SaveColumns::masks, given);
    if (!given.save.empty()) columns.push_back({{"index", DType::i64, {}}, fill_index});
    if (is_saved(SaveColumns::labels, given)) {
      // Columns stand in order of their names, as Task::columns() promises: "correct" comes before
      // "index", "pixels" and "prediction" behind it.
      columns.insert(columns.begin(), {{"correct", DType::i64, {}}, fill_correct});
      columns.push_back({{"pixels", DType::i64, {}}, fill_pixels});
    }
    // The height and width of this column are not known before bind_output_shapes() sees the
    // model's outputs.
    if (saves_masks) columns.push_back({{"prediction", mask_type(), {}}, fill_mask});
    if (!given.keep_rows) return;
    retained = {{{"counts", DType::i64, {3, num_classes()}}, fill_counts},
                {{"finite", DType::u8, {}}, fill_finite}};
  }

  std::int64_t num_classes() const { return options.metrics.num_classes; }
  // These are the type of masks in predictions.h5, and its value for a pixel without a prediction.
  // A byte holds 255 classes, because its largest value is needed for that.
  DType mask_type() const { return num_classes() <= 255 ? DType::u8 : DType::i32; }
  std::int64_t no_class() const { return mask_type() == DType::u8 ? 255 : -1; }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;  // for counting kept rows
  std::vector<MaskColumn> columns;
  std::vector<MaskColumn> retained;
};

// A model may return classes that it has decided itself. The data set's labels may be of the same
// types.
bool are_classes(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

// Returns height and width, of scores [rows, classes, height, width], or of classes that the model
// has decided, [rows, height, width]. Throws Error(model) for any other output.
Shape image_shape(const TensorView& output, std::int64_t num_classes) {
  const Shape& shape = output.shape;
  const bool is_decided = are_classes(output.dtype);
  if (is_decided && shape.size() == 3) return {shape[1], shape[2]};
  const bool is_scores = output.dtype == DType::f32 && shape.size() == 4 && shape[1] == num_classes;
  if (is_scores) return {shape[2], shape[3]};
  throw Error(ErrorKind::model,
              format("the model returned {} {}, expected [rows, {}, height, width], a score for "
                     "each class of each pixel, or integers [rows, height, width], its class",
                     name(output.dtype), to_string(shape), num_classes));
}

class MaskCounter {
 public:
  explicit MaskCounter(const SegmentationConfig& config)
      : num_classes_(config.num_classes()),
        // Only predictions.h5 has a value that stands for no class. A model that decides must name
        // a class for each pixel, and 255 from it is an error.
        no_class_(config.options.are_saved ? std::optional(config.no_class()) : std::nullopt),
        ignore_index_(config.options.metrics.ignore_index),
        image_(num_classes_) {}

  void check(const TensorView& output, const TensorView& labels) const {
    const auto* const what = are_classes(output.dtype) ? "classes" : "scores";
    check_image_size(what, image_shape(output, num_classes_), labels);
  }

  // On a GPU the best class of each pixel is found there, so that 4 bytes a pixel are brought to
  // the host in place of 4 bytes for each class of each pixel.
  TensorView reduced(const TensorView& output, const device::Stream& stream) {
    is_predicted_ = stream.device().kind == DeviceKind::cuda && !are_classes(output.dtype);
    return is_predicted_ ? pass_.enqueue(output, stream) : output;
  }

  SegmentationRecord count(std::uint64_t index, const TensorView& output,
                           const TensorView& labels) {
    if (are_classes(output.dtype)) {
      // PixelPass writes -1 for a pixel whose scores hold NaN or Inf.
      const auto none = is_predicted_ ? std::optional<std::int64_t>(-1) : no_class_;
      return image_.count_decided(index, output, none, labels, ignore_index_);
    }
    return image_.count(index, {output.as<const float>(), to_size(num_elements(output.shape))},
                        labels, ignore_index_);
  }

 private:
  std::int64_t num_classes_;
  std::optional<std::int64_t> no_class_;  // a model that decides has one for each pixel
  std::optional<std::int64_t> ignore_index_;
  metrics::PixelPass pass_;
  bool is_predicted_ = false;  // the batch in flight, by pass_
  metrics::MaskCounts image_;
};

class Segmentation : public CountingTask<SegmentationConfig> {
 public:
  explicit Segmentation(const TaskOptions& options) : CountingTask(options) {
    const auto is_known = [](SaveColumns group) {
      return group == SaveColumns::labels || group == SaveColumns::masks;
    };
    // The other groups of --save hold scores of a sample's classes, which an image does not have.
    if (std::ranges::all_of(options.save, is_known)) return;
    throw Error(ErrorKind::usage, "the task segmentation saves counts of pixels, and masks",
                "Use --save labels, --save labels,masks, or --save none.");
  }

  void check_outputs(std::span<const TensorView> outputs) const override {
    image_shape(only_output(outputs), config_.num_classes());
  }

  void bind_output_shapes(std::span<const TensorView> outputs) override {
    const Shape shape = image_shape(only_output(outputs), config_.num_classes());
    const auto mask = std::ranges::find(config_.columns, "prediction",
                                        [](const MaskColumn& column) { return column.spec.name; });
    if (mask == config_.columns.end()) return;
    mask->spec.row_shape = shape;
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<SampleScorer<SegmentationConfig, MaskCounter>>(config_, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    const auto* counts = reinterpret_cast<const std::int64_t*>(retained.columns.at(0).data());
    // An image is recounted from its three counts for each class; its pixels were not retained.
    const std::size_t each = to_size(3 * config_.num_classes());
    std::vector<SegmentationRecord> rows;
    for (const std::byte finite : retained.columns.at(1)) {
      rows.push_back(metrics::retained_segmentation_record({counts, each}, config_.num_classes(),
                                                           finite != std::byte{0}));
      counts += each;
    }
    return {config_.resample_metrics, rows};
  }
};

}  // namespace

std::unique_ptr<Task> make_segmentation(const TaskOptions& options) {
  return std::make_unique<Segmentation>(options);
}

}  // namespace tally::tasks
