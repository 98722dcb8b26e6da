// SPDX-License-Identifier: Apache-2.0
#include "multiclass/multiclass_columns.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

#include "predicted_classes.hpp"

namespace tally::tasks {
namespace {

// The width of "topk" is a format: docs/formats.md promises the best 5 classes, or all of fewer.
std::int64_t top_k_of(std::int64_t num_classes) { return std::min<std::int64_t>(5, num_classes); }

std::span<const float> score_row(const ClassSource& source, std::size_t row) {
  // Rows may lie apart: the pass takes any stride between them, and so do columns.
  return {source.scores.as<float>() + to_size(source.scores.strides.at(0)) * row,
          to_size(source.scores.shape.at(1))};
}

// Fills a column with one member of each row, converted to the type of the column.
template <class T, class Member>
void fill_member(const ClassSource& source, Member member, std::span<std::byte> out) {
  std::ranges::transform(source.rows, values_in<T>(out).begin(),
                         [member](const auto& row) { return static_cast<T>(row.*member); });
}

using metrics::MulticlassRecord;

void fill_index(const ClassSource& source, std::span<std::byte> out) {
  fill_member<std::int64_t>(source, &MulticlassRecord::index, out);
}

void fill_label(const ClassSource& source, std::span<std::byte> out) {
  fill_member<std::int64_t>(source, &MulticlassRecord::label, out);
}

void fill_prediction(const ClassSource& source, std::span<std::byte> out) {
  fill_member<std::int64_t>(source, &MulticlassRecord::prediction, out);
}

void fill_label_rank(const ClassSource& source, std::span<std::byte> out) {
  fill_member<std::int32_t>(source, &MulticlassRecord::label_rank, out);
}

void fill_loss(const ClassSource& source, std::span<std::byte> out) {
  fill_member<float>(source, &MulticlassRecord::loss, out);
}

void fill_confidence(const ClassSource& source, std::span<std::byte> out) {
  fill_member<float>(source, &MulticlassRecord::confidence, out);
}

// Lists the best classes of each row. Of equal scores the class with the smaller index comes first,
// as in the label's rank, so that "topk" and "label_rank" never contradict each other.
void fill_topk(const ClassSource& source, std::span<std::byte> out) {
  const auto top = values_in<std::int64_t>(out);
  std::vector<std::int64_t> classes(to_size(source.scores.shape.at(1)));
  const std::size_t k = to_size(top_k_of(std::ssize(classes)));
  for (std::size_t row = 0; row < source.rows.size(); ++row) {
    const auto scores = score_row(source, row);
    const auto place = top.begin() + static_cast<std::ptrdiff_t>(row * k);
    if (!source.rows[row].finite) {
      // NaN has no order: sorting such a row would be undefined behaviour.
      std::fill_n(place, k, -1);
      continue;
    }
    std::iota(classes.begin(), classes.end(), 0);
    // Only the first k places are sorted: O(classes * log k) for each row.
    const auto middle = classes.begin() + static_cast<std::ptrdiff_t>(k);
    std::partial_sort(classes.begin(), middle, classes.end(), [&](auto left, auto right) {
      const float a = scores[to_size(left)];
      const float b = scores[to_size(right)];
      return a > b || (a == b && left < right);
    });
    std::copy(classes.begin(), middle, place);
  }
}

// The bytes of a record are retained as they are: only this run reads them again.
void fill_row(const ClassSource& source, std::span<std::byte> out) {
  std::memcpy(out.data(), source.rows.data(), out.size());
}

void fill_probabilities(const ClassSource& source, std::span<std::byte> out) {
  const auto num_classes = to_size(source.scores.shape.at(1));
  const auto values = values_in<float>(out);
  for (std::size_t row = 0; row < source.rows.size(); ++row) {
    const auto place = values.subspan(row * num_classes, num_classes);
    if (source.rows[row].finite) {
      metrics::class_probabilities(score_row(source, row), source.outputs, place);
    } else {
      // The value of NaN is fixed, so that the file is the same whichever NaN the model returned.
      std::ranges::fill(place, std::numeric_limits<float>::quiet_NaN());
    }
  }
}

void fill_logits(const ClassSource& source, std::span<std::byte> out) {
  const auto num_classes = to_size(source.scores.shape.at(1));
  const auto values = values_in<float>(out);
  for (std::size_t row = 0; row < source.rows.size(); ++row) {
    const auto scores = score_row(source, row);
    std::copy(scores.begin(), scores.end(),
              values.begin() + static_cast<std::ptrdiff_t>(row * num_classes));
  }
}

// Names and types are those of docs/formats.md, "predictions.h5".
std::vector<ClassColumn> columns_of(SaveColumns group, std::int64_t num_classes) {
  switch (group) {
    case SaveColumns::labels:
      return {{{"confidence", DType::f32, {}}, fill_confidence},
              {{"index", DType::i64, {}}, fill_index},
              {{"label", DType::i64, {}}, fill_label},
              {{"label_rank", DType::i32, {}}, fill_label_rank},
              {{"loss", DType::f32, {}}, fill_loss},
              {{"prediction", DType::i64, {}}, fill_prediction}};
    case SaveColumns::topk:
      return {{{"topk", DType::i64, {top_k_of(num_classes)}}, fill_topk}};
    case SaveColumns::probabilities:
      return {{{"probabilities", DType::f32, {num_classes}}, fill_probabilities}};
    case SaveColumns::logits:
      return {{{"logits", DType::f32, {num_classes}}, fill_logits}};
    case SaveColumns::masks:
      break;
  }
  return {};
}

}  // namespace

std::vector<ClassColumn> class_columns(const std::vector<SaveColumns>& groups,
                                       std::int64_t num_classes, bool has_scores) {
  auto columns =
      columns_of_groups(groups, [&](SaveColumns group) { return columns_of(group, num_classes); });
  if (!has_scores) leave_out_scores(columns);
  return columns;
}

std::vector<ClassColumn> retained_class_columns(std::int64_t num_classes, bool with_scores) {
  std::vector<ClassColumn> columns{
      {{"row", DType::u8, {std::int64_t{sizeof(MulticlassRecord)}}}, fill_row}};
  // Curves compare scores of different samples, for which the logits of a softmax have no common
  // scale.
  if (with_scores) columns.push_back({{"scores", DType::f32, {num_classes}}, fill_probabilities});
  return columns;
}

}  // namespace tally::tasks
