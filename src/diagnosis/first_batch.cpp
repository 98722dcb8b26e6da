// SPDX-License-Identifier: Apache-2.0
#include <tally/diagnosis/first_batch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <tally/base/checked_cast.hpp>

namespace tally::diagnosis {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 20;
// Probabilities may have been rounded to 16 bits.
constexpr double kSlackOfSum = 0.02;
constexpr float kSlackOfValue = 1e-3F;

bool is_contiguous(const TensorView& view) {
  std::int64_t stride = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.shape[i];
  }
  return true;
}

}  // namespace

std::optional<FloatImages> float_images(const TensorView& input, std::int64_t num_samples) {
  const auto& shape = input.shape;
  const bool are_images = input.device == DeviceKind::cpu && input.dtype == DType::f32 &&
                          shape.size() == 4 && (shape[1] == 1 || shape[1] == 3) &&
                          is_contiguous(input);
  if (!are_images || num_samples < 1) return std::nullopt;
  const std::int64_t per_sample = num_elements(shape) / shape[0];
  const std::int64_t count = std::min(std::min(num_samples, shape[0]) * per_sample, kMostValues);
  if (count < 1) return std::nullopt;
  FloatImages found{.smallest = HUGE_VAL, .largest = -HUGE_VAL, .are_whole = true};
  for (const double value : std::span(input.as<const float>(), to_size(count))) {
    if (!std::isfinite(value)) return std::nullopt;
    found.smallest = std::min(found.smallest, value);
    found.largest = std::max(found.largest, value);
    found.are_whole = found.are_whole && value == std::floor(value);
  }
  return found;
}

bool rows_are_the_same(const TensorView& input, std::int64_t num_samples) {
  if (input.device != DeviceKind::cpu || input.shape.empty() || !is_contiguous(input)) return false;
  const std::int64_t rows = std::min(num_samples, input.shape[0]);
  const Shape row_shape(input.shape.begin() + 1, input.shape.end());
  const auto bytes = to_size(num_elements(row_shape) * size_bytes(input.dtype));
  const auto* const first = input.as<const std::byte>();
  for (std::int64_t row = 1; row < rows; ++row) {
    if (std::memcmp(first, first + to_size(row) * bytes, bytes) != 0) return false;
  }
  return true;
}

std::optional<ScoreStatistics> score_statistics(const TensorView& scores,
                                                std::int64_t num_samples) {
  const bool is_readable = scores.device == DeviceKind::cpu && scores.dtype == DType::f32 &&
                           (scores.shape.size() == 1 || scores.shape.size() == 2) &&
                           is_contiguous(scores);
  if (!is_readable || scores.shape[0] < num_samples) return std::nullopt;
  const std::int64_t values = scores.shape.size() == 1 ? 1 : scores.shape[1];
  if (values < 1 || num_samples < 1) return std::nullopt;
  ScoreStatistics found{num_samples, values, true, true, rows_are_the_same(scores, num_samples)};
  for (std::int64_t row = 0; row < num_samples; ++row) {
    double sum = 0;
    for (const float value : std::span(scores.as<const float>() + row * values, to_size(values))) {
      if (!std::isfinite(value)) return std::nullopt;
      sum += value;
      found.are_within_0_and_1 &= value >= -kSlackOfValue && value <= 1 + kSlackOfValue;
    }
    found.add_up_to_1 &= std::abs(sum - 1) <= kSlackOfSum;
  }
  return found;
}

}  // namespace tally::diagnosis
