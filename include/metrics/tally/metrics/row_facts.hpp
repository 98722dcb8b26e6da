// What one pass over the model's output finds for each sample; every metric and record column of a
// classification is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::metrics {

// What the model returns; DESIGN's `--outputs`.
enum class OutputKind { logits, log_probabilities, probabilities };
OutputKind output_kind_from_name(std::string_view word);  // Error(usage) for an unknown word
std::string_view name(OutputKind kind);

// One entry per row, in row order.
struct RowFacts {
  std::vector<std::int64_t> prediction;  // argmax; ties: the smallest class index
  // #(greater) + #(equal with a smaller index); -1 if ignored
  std::vector<std::int32_t> label_rank;
  std::vector<float> loss;               // cross entropy, natural log; finite, or NaN if ignored
  std::vector<float> confidence;         // probability of the prediction
  std::vector<std::uint8_t> label_tied;  // 1 if another class has the true class's value

  // The first row that cannot be scored, and why; facts are void then.
  // NaN or +Inf; -Inf too, where it is no score of an impossible class.
  std::optional<std::int64_t> non_finite_row;
  // A probability outside [0, 1] or a log-probability above 0: the model returns something else.
  std::optional<std::int64_t> wrong_kind_row;
};

// What the true class costs at probability 0 (or a score of -Inf), where cross entropy is infinite:
// as much as at the smallest positive float32, 149 ln 2.
inline constexpr double kZeroProbabilityLoss = 103.27892990343184;

// scores: [rows >= labels.size(), classes] float32 on the CPU, unit stride along classes. A label
// equal to `ignore_index` gets rank -1. Labels must be in range (the reader has checked them);
// else, or for scores of another form, Error(internal). Stops at the first row that cannot be
// scored.
void examine_rows(const TensorView& scores, std::span<const std::int64_t> labels,
                  std::optional<std::int64_t> ignore_index, OutputKind kind, RowFacts& facts);

// The probabilities of one row's classes: its softmax, its exponential, or the row as it is.
void class_probabilities(std::span<const float> row, OutputKind kind,
                         std::span<float> probabilities);

}  // namespace tally::metrics
