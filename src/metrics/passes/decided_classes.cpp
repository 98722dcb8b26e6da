// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/decided_classes.hpp>

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "passes/read_classes.hpp"

namespace tally::metrics {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A byte holds 255 classes besides the value that stands for none.
std::int64_t no_class(DType dtype, std::int64_t num_classes) {
  return dtype == DType::u8 && num_classes <= 255 ? 255 : -1;
}

// Says which label of the sample, where it has several.
[[noreturn]] void refuse_decision(std::int64_t sample, std::optional<std::int64_t> label,
                                  std::int64_t value, std::int64_t num_classes) {
  throw Error(ErrorKind::model,
              format("{}sample {} is predicted as {}, expected 0 to {}",
                     label ? format("label {} of ", *label) : "", sample, value, num_classes - 1),
              "Name the data set that was predicted, and number its classes from 0.");
}

// The target of one label: 1, 0 or kNotScored.
std::uint8_t read_target(std::int64_t value, std::optional<std::int64_t> ignore_index) {
  if (value == ignore_index) return kNotScored;
  if (value == 0 || value == 1) return static_cast<std::uint8_t>(value);
  throw Error(ErrorKind::internal, format("a target of a label is {}", value));
}

MultilabelRecord judge(std::span<const std::int32_t> decisions,
                       std::span<const std::uint8_t> targets) {
  MultilabelRecord row;
  row.finite = std::ranges::none_of(decisions, [](std::int32_t d) { return d < 0; });
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kNotScored) continue;
    ++row.scored;
    row.right += row.finite && decisions[i] == targets[i] ? 1 : 0;
  }
  return row;
}

}  // namespace

bool are_decided_classes(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
}

std::vector<std::int32_t> decided_classes(const TensorView& classes, std::int64_t first_index,
                                          std::int64_t num_rows, std::int64_t num_classes) {
  const std::int64_t labels = classes.shape.size() == 2 ? classes.shape[1] : 1;
  std::vector<std::int32_t> decided(to_size(num_rows * labels));
  const auto refuse = [&](std::size_t i, std::int64_t value) {
    const auto at = static_cast<std::int64_t>(i);
    refuse_decision(first_index + at / labels,
                    classes.shape.size() == 2 ? std::optional(at % labels) : std::nullopt, value,
                    num_classes);
  };
  read_any_classes(classes, num_classes, no_class(classes.dtype, num_classes), refuse, decided);
  return decided;
}

MulticlassRecord decided_record(std::int64_t index, std::int64_t label, std::int64_t predicted,
                                std::optional<std::int64_t> ignore_index) {
  MulticlassRecord row;
  row.index = static_cast<std::uint64_t>(index);
  row.label = label;
  row.prediction = predicted;
  row.ignored = label == ignore_index;
  row.finite = predicted >= 0;
  row.loss = row.confidence = row.brier = row.hinge = kUnknown;
  if (row.ignored || !row.finite) return row;
  row.label_rank = row.best_rank = row.worst_rank = predicted == label ? 0 : 1;
  return row;
}

std::vector<MulticlassRecord> decided_records(std::span<const std::int32_t> classes,
                                              std::span<const std::int64_t> labels,
                                              std::int64_t first_index,
                                              std::optional<std::int64_t> ignore_index) {
  std::vector<MulticlassRecord> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto index = first_index + static_cast<std::int64_t>(i);
    rows.push_back(decided_record(index, labels[i], classes[i], ignore_index));
  }
  return rows;
}

void compute_decided_labels(std::span<const std::int32_t> decisions, const TensorView& targets,
                            std::int64_t first_index, std::int64_t num_rows,
                            std::optional<std::int64_t> ignore_index, LabelStatistics& stats) {
  const bool is_one = targets.dtype == DType::i64;
  const std::size_t labels = is_one ? 1 : to_size(targets.shape.at(1));
  stats.wrong_kind_row.reset();
  stats.rows.clear();
  stats.targets.resize(decisions.size());
  stats.probabilities.resize(decisions.size());
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::int64_t target =
        is_one ? targets.as<const std::int64_t>()[i] : targets.as<const std::uint8_t>()[i];
    stats.targets[i] = read_target(target, ignore_index);
  }
  for (std::size_t i = 0; i < to_size(num_rows); ++i) {
    const auto of_row = decisions.subspan(i * labels, labels);
    MultilabelRecord row = judge(of_row, std::span(stats.targets).subspan(i * labels, labels));
    row.index = static_cast<std::uint64_t>(first_index) + i;
    stats.rows.push_back(row);
    for (std::size_t label = 0; label < labels; ++label) {
      stats.probabilities[i * labels + label] =
          row.finite ? static_cast<float>(of_row[label]) : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

}  // namespace tally::metrics
