// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/segmentation_pass.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "passes/predict_pixels_kernel.hpp"
#include "passes/read_classes.hpp"

namespace tally::metrics {
namespace {

// Pixels whose best scores so far stay in the core's cache while plane after plane goes by.
constexpr std::size_t kRun = 2048;

// `zero` finds scores that are not finite without a branch: a product with 0 is 0 for every finite
// score, and NaN for others, and a sum keeps a NaN.
struct Run {
  std::array<float, kRun> best;
  std::array<float, kRun> zero;
};

void predict_run(const float* scores, std::size_t plane, std::int64_t num_classes, Run& run,
                 std::span<std::int32_t> predictions) {
  const std::size_t count = predictions.size();
  for (std::size_t i = 0; i < count; ++i) {
    run.best[i] = scores[i];
    run.zero[i] = scores[i] * 0.0F;
    predictions[i] = 0;
  }
  for (std::int32_t c = 1; c < num_classes; ++c) {
    const float* const of_class = scores + to_size(c) * plane;
    for (std::size_t i = 0; i < count; ++i) {
      // Only a larger score replaces the best one: of equal scores the smaller class wins.
      const bool is_better = of_class[i] > run.best[i];
      run.best[i] = is_better ? of_class[i] : run.best[i];
      predictions[i] = is_better ? c : predictions[i];
      run.zero[i] += of_class[i] * 0.0F;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    predictions[i] = run.zero[i] == 0.0F ? predictions[i] : -1;
  }
}

[[noreturn]] void refuse_label(std::size_t pixel, std::int64_t label) {
  throw Error(ErrorKind::internal, format("pixel {} has the label {}", pixel, label));
}

}  // namespace

void predict_pixels(std::span<const float> scores, std::int64_t num_classes,
                    std::span<std::int32_t> predictions) {
  if (num_classes < 1 || scores.size() != predictions.size() * to_size(num_classes)) {
    throw Error(ErrorKind::internal, format("{} scores for {} pixels of {} classes", scores.size(),
                                            predictions.size(), num_classes));
  }
  Run run;
  for (std::size_t first = 0; first < predictions.size(); first += kRun) {
    const std::size_t count = std::min(kRun, predictions.size() - first);
    predict_run(scores.data() + first, predictions.size(), num_classes, run,
                predictions.subspan(first, count));
  }
}

TensorView PixelPass::enqueue(const TensorView& scores, const device::Stream& stream) {
  const auto& shape = scores.shape;
  const bool fits =
      scores.dtype == DType::f32 && shape.size() == 4 && scores.device == DeviceKind::cuda;
  if (!fits) {
    throw Error(ErrorKind::internal, format("pixels of {} {} were to be predicted on a GPU",
                                            name(scores.dtype), to_string(shape)));
  }
  const auto pixels = shape[2] * shape[3];
  const auto bytes = shape[0] * pixels * size_bytes(DType::i32);
  // The memory grows to that of the largest batch and is used again.
  if (predictions_.num_bytes() < bytes) {
    predictions_ = device::DeviceBuffer(bytes, stream.device());
  }
  launch_predict_pixels({.scores = scores.as<const float>(),
                         .num_images = shape[0],
                         .num_classes = shape[1],
                         .num_pixels = pixels,
                         .predictions = predictions_.as<std::int32_t>()},
                        stream.handle());
  return contiguous_view(predictions_.data(), DType::i32, {shape[0], shape[2], shape[3]},
                         DeviceKind::cuda);
}

MaskCounts::MaskCounts(std::int64_t num_classes)
    : num_classes_(num_classes), counts_(to_size(3 * num_classes)) {}

SegmentationRecord MaskCounts::count(std::uint64_t index, std::span<const float> scores,
                                     const TensorView& labels,
                                     std::optional<std::int64_t> ignore_index) {
  predictions_.resize(to_size(num_elements(labels.shape)));
  predict_pixels(scores, num_classes_, predictions_);
  return count(index, labels, ignore_index);
}

SegmentationRecord MaskCounts::count_decided(std::uint64_t index, const TensorView& classes,
                                             std::optional<std::int64_t> none,
                                             const TensorView& labels,
                                             std::optional<std::int64_t> ignore_index) {
  predictions_.resize(to_size(num_elements(labels.shape)));
  const auto throw_model_error = [&](std::size_t pixel, std::int64_t value) {
    throw Error(ErrorKind::model,
                format("the class of pixel {} of sample {} is predicted as {}, expected 0 to {}",
                       pixel, index, value, num_classes_ - 1));
  };
  read_any_classes(classes, num_classes_, none, throw_model_error, predictions_);
  return count(index, labels, ignore_index);
}

SegmentationRecord MaskCounts::count(std::uint64_t index, const TensorView& labels,
                                     std::optional<std::int64_t> ignore_index) {
  const std::size_t pixels = predictions_.size();
  labels_.resize(pixels);
  read_any_classes(labels, num_classes_, ignore_index, refuse_label, labels_);
  std::ranges::fill(counts_, 0);
  const std::size_t classes = to_size(num_classes_);
  // counts_ is [3, classes]: support, predictions, hits. A pixel without a prediction is in the
  // support only, and so counts as wrong.
  for (std::size_t i = 0; i < pixels; ++i) {
    if (labels_[i] < 0) continue;
    const auto label = static_cast<std::size_t>(labels_[i]);
    ++counts_[label];
    if (predictions_[i] < 0) continue;
    ++counts_[classes + static_cast<std::size_t>(predictions_[i])];
    counts_[2 * classes + label] += labels_[i] == predictions_[i] ? 1 : 0;
  }
  // All pixels are looked at, scored or not: an image with NaN or Inf is listed in either case.
  const bool finite = std::ranges::none_of(predictions_, [](std::int32_t p) { return p < 0; });
  SegmentationRecord row = retained_segmentation_record(counts_, num_classes_, finite);
  row.index = index;
  row.labels = labels_.data();
  row.predictions = predictions_.data();
  row.num_pixels = static_cast<std::int64_t>(pixels);
  return row;
}

SegmentationRecord retained_segmentation_record(std::span<const std::int64_t> kept,
                                                std::int64_t num_classes, bool finite) {
  const auto support = kept.first(to_size(num_classes));
  return {.ignored = std::accumulate(support.begin(), support.end(), std::int64_t{0}) == 0,
          .finite = finite,
          .num_classes = num_classes,
          .support = kept.data(),
          .predicted = kept.data() + num_classes,
          .correct = kept.data() + 2 * num_classes};
}

}  // namespace tally::metrics
