// SPDX-License-Identifier: Apache-2.0
#include "multilabel/multilabel_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {
namespace {

using metrics::kNotScored;
using metrics::MultilabelRecord;

// This value stands for a label without a prediction in the uint8 column of the task multilabel
// (docs/formats.md).
constexpr std::uint8_t kNoPrediction = 255;

void fill_index(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::transform(
      source.rows.rows, values_in<std::int64_t>(out).begin(),
      [](const MultilabelRecord& row) { return static_cast<std::int64_t>(row.index); });
}

// The loss of a sample is the mean over its labels that are scored. Without any the sum is NaN, and
// so is the quotient.
void fill_loss(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::transform(
      source.rows.rows, values_in<float>(out).begin(),
      [](const MultilabelRecord& row) { return static_cast<float>(row.loss / row.scored); });
}

// The pass has replaced the data set's ignored value by kNotScored; the file gets the value that
// the data set has.
template <class T>
void fill_label(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::transform(source.rows.targets, values_in<T>(out).begin(), [&](std::uint8_t target) {
    return static_cast<T>(target == kNotScored ? source.ignore_index : target);
  });
}

// A probability at the threshold itself predicts 0, as in the metrics. Both are float32, so that
// the column agrees with what was counted.
template <class T>
void fill_prediction(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::transform(source.rows.probabilities, values_in<T>(out).begin(), [&](float p) {
    return std::isnan(p) ? static_cast<T>(kNoPrediction) : static_cast<T>(p > source.threshold);
  });
}

// The task binary writes int64, in which -1 stands for no prediction, as in multiclass.
void fill_class(const LabelSource& source, std::span<std::byte> out) {
  fill_prediction<std::int64_t>(source, out);
  std::ranges::replace(values_in<std::int64_t>(out), std::int64_t{kNoPrediction}, -1);
}

// NaN is not above the threshold, and 1 - NaN is NaN: scores that are not finite need no case.
void fill_confidence(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::transform(source.rows.probabilities, values_in<float>(out).begin(),
                         [&](float p) { return p > source.threshold ? p : 1.0f - p; });
}

void fill_probabilities(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::copy(source.rows.probabilities, values_in<float>(out).begin());
}

// Fills the probabilities of both classes, [rows, 2]. The pass keeps that of class 1 only.
void fill_pairs(const LabelSource& source, std::span<std::byte> out) {
  const auto values = values_in<float>(out);
  for (std::size_t i = 0; i < source.rows.rows.size(); ++i) {
    values[2 * i] = 1.0f - source.rows.probabilities[i];
    values[2 * i + 1] = source.rows.probabilities[i];
  }
}

// Returns the model's scores of one row, which of the task binary may come as [rows], [rows, 1] or
// [rows, 2].
std::span<const float> scores_of_row(const LabelSource& source, std::size_t row) {
  const TensorView& scores = source.scores;
  const std::size_t columns = scores.shape.size() == 1 ? 1 : to_size(scores.shape.at(1));
  return {scores.as<float>() + to_size(scores.strides.at(0)) * row, columns};
}

// Fills the log-odds of class 1: the score itself where the model returns one, else the difference
// of the two scores, which is taken in double and rounded once.
void fill_logit(const LabelSource& source, std::span<std::byte> out) {
  const auto values = values_in<float>(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto scores = scores_of_row(source, i);
    values[i] =
        scores.size() == 1 ? scores[0] : static_cast<float>(double{scores[1]} - double{scores[0]});
  }
}

void fill_logits(const LabelSource& source, std::span<std::byte> out) {
  const auto values = values_in<float>(out);
  for (std::size_t i = 0; i < source.rows.rows.size(); ++i) {
    const auto scores = scores_of_row(source, i);
    std::ranges::copy(scores, values.subspan(i * scores.size()).begin());
  }
}

void fill_rows(const LabelSource& source, std::span<std::byte> out) {
  std::memcpy(out.data(), source.rows.rows.data(), out.size());
}

void fill_targets(const LabelSource& source, std::span<std::byte> out) {
  std::ranges::copy(source.rows.targets, values_in<std::uint8_t>(out).begin());
}

// Names and types of both tasks are those of docs/formats.md, "predictions.h5".
std::vector<LabelColumn> binary_group(SaveColumns group) {
  switch (group) {
    case SaveColumns::labels:
      return {{{"confidence", DType::f32, {}}, fill_confidence},
              {{"index", DType::i64, {}}, fill_index},
              {{"label", DType::i64, {}}, fill_label<std::int64_t>},
              {{"loss", DType::f32, {}}, fill_loss},
              {{"prediction", DType::i64, {}}, fill_class},
              {{"score", DType::f32, {}}, fill_probabilities}};
    case SaveColumns::probabilities:
      return {{{"probabilities", DType::f32, {2}}, fill_pairs}};
    case SaveColumns::logits:
      return {{{"logits", DType::f32, {}}, fill_logit}};
    case SaveColumns::topk:
    case SaveColumns::masks:
      break;
  }
  return {};
}

std::vector<LabelColumn> multilabel_group(SaveColumns group, std::int64_t num_labels) {
  switch (group) {
    case SaveColumns::labels:
      return {{{"index", DType::i64, {}}, fill_index},
              {{"label", DType::u8, {num_labels}}, fill_label<std::uint8_t>},
              {{"loss", DType::f32, {}}, fill_loss},
              {{"prediction", DType::u8, {num_labels}}, fill_prediction<std::uint8_t>}};
    case SaveColumns::probabilities:
      return {{{"probabilities", DType::f32, {num_labels}}, fill_probabilities}};
    case SaveColumns::logits:
      return {{{"logits", DType::f32, {num_labels}}, fill_logits}};
    case SaveColumns::topk:
    case SaveColumns::masks:
      break;
  }
  return {};
}

}  // namespace

std::vector<LabelColumn> binary_columns(const std::vector<SaveColumns>& groups) {
  return columns_of_groups(groups, binary_group);
}

std::vector<LabelColumn> multilabel_columns(const std::vector<SaveColumns>& groups,
                                            std::int64_t num_labels) {
  return columns_of_groups(groups,
                           [&](SaveColumns group) { return multilabel_group(group, num_labels); });
}

std::vector<LabelColumn> retained_label_columns(std::int64_t num_labels) {
  return {{{"row", DType::u8, {std::int64_t{sizeof(MultilabelRecord)}}}, fill_rows},
          {{"scores", DType::f32, {num_labels}}, fill_probabilities},
          {{"targets", DType::u8, {num_labels}}, fill_targets}};
}

metrics::MultilabelRecords retained_records(const predictions::RecordBatch& retained) {
  const auto& scores = retained.columns.at(1);
  const auto& targets = retained.columns.at(2);
  // Columns are separate allocations, aligned for any type, so that their bytes can be read in
  // place. What is returned refers to `retained`.
  return {{reinterpret_cast<const MultilabelRecord*>(retained.columns.at(0).data()),
           to_size(retained.num_rows)},
          {reinterpret_cast<const float*>(scores.data()), scores.size() / sizeof(float)},
          {reinterpret_cast<const std::uint8_t*>(targets.data()), targets.size()}};
}

}  // namespace tally::tasks
