// SPDX-License-Identifier: Apache-2.0
// Goes over the scores of an image's pixels, predicts their classes and counts them. On a GPU the
// pixels are predicted there, and counted on the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// The class with the largest score of each pixel, of equal ones the smaller; -1 where a score is
// NaN or Inf. scores: [num_classes, pixels], a plane per class; predictions: [pixels].
void predict_pixels(std::span<const float> scores, std::int64_t num_classes,
                    std::span<std::int32_t> predictions);

// predict_pixels() of batches on a GPU; one object for each batch in flight.
class PixelPass {
 public:
  // scores: float32 [images, num_classes, height, width], contiguous, on the stream's GPU.
  // Enqueues; what is returned, int32 [images, height, width] there, is valid until the next call.
  TensorView enqueue(const TensorView& scores, const device::Stream& stream);

 private:
  device::DeviceBuffer predictions_;
};

// What one image gives; one object for many images.
class MaskCounts {
 public:
  explicit MaskCounts(std::int64_t num_classes);

  // scores: [num_classes, pixels]; labels: uint8, int16, int32 or int64 of as many pixels, on the
  // CPU, contiguous. Error(internal) if a label is no class and not ignored (the reader has checked
  // them). The row points into this object until the next call.
  SegmentationRecord count(std::uint64_t index, std::span<const float> scores,
                           const TensorView& labels, std::optional<std::int64_t> ignore_index);
  // The same of classes that are decided: `classes` are of these types, too, of which `none` stands
  // for scores that were not finite. Error(model) names a value that is neither a class nor
  // `none`, even of a pixel that is not scored.
  SegmentationRecord count_decided(std::uint64_t index, const TensorView& classes,
                                   std::optional<std::int64_t> none, const TensorView& labels,
                                   std::optional<std::int64_t> ignore_index);

  // Support, predictions and hits, [3, num_classes]: what is kept of an image.
  std::span<const std::int64_t> kept() const { return counts_; }

 private:
  // Of predictions_.
  SegmentationRecord count(std::uint64_t index, const TensorView& labels,
                           std::optional<std::int64_t> ignore_index);

  std::int64_t num_classes_ = 0;
  std::vector<std::int32_t> labels_, predictions_;
  std::vector<std::int64_t> counts_;
};

// Of what was kept of an image, [3, num_classes]; it points into it.
SegmentationRecord retained_segmentation_record(std::span<const std::int64_t> kept,
                                                std::int64_t num_classes, bool finite);

}  // namespace tally::metrics
