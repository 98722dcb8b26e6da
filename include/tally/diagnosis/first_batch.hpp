// SPDX-License-Identifier: Apache-2.0
// Describes the first batch of a run, inputs and scores, as far as it shows mistakes in what a
// model was given or in what its scores are taken for.
#pragma once

#include <cstdint>
#include <optional>

#include <tally/base/tensor_view.hpp>

namespace tally::diagnosis {

// Of images that are numbers already, which the model is given as they are.
struct FloatImages {
  double smallest = 0, largest = 0;
  bool are_whole = false;  // all values are whole numbers
};

// Of scores, [samples, values].
struct ScoreStatistics {
  std::int64_t num_samples = 0, num_values = 0;
  bool are_within_0_and_1 = false;
  bool add_up_to_1 = false;   // those of each sample, but for rounding to 16 bits
  bool are_the_same = false;  // for all samples, bit for bit
};

struct FirstBatch {
  std::optional<FloatImages> images;      // of the first input; absent of other inputs
  bool inputs_are_the_same = false;       // the first input, for all samples
  std::optional<ScoreStatistics> scores;  // of the first output; absent of other outputs
};

// On the CPU: contiguous float32 [rows, 1 or 3, height, width], of which `num_samples` rows and
// some million values at most are looked at. None for other tensors, and for values that are not
// finite.
std::optional<FloatImages> float_images(const TensorView& input, std::int64_t num_samples);

// On the CPU: whether the first `num_samples` rows of a contiguous tensor are the same bytes.
bool rows_are_the_same(const TensorView& input, std::int64_t num_samples);

// On the CPU: contiguous float32 [rows] or [rows, values]. None for other tensors, and for values
// that are not finite.
std::optional<ScoreStatistics> score_statistics(const TensorView& scores, std::int64_t num_samples);

}  // namespace tally::diagnosis
