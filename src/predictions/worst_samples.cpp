// SPDX-License-Identifier: Apache-2.0
#include "worst_samples.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>

namespace tally::predictions {
namespace {

// Each of these makes the worse row the larger number. Where nothing is scored, a share is 0/0:
// choose_rows() leaves such rows out.
double large_is_bad(double value, double /*second*/) { return value; }
double small_is_bad(double value, double /*second*/) { return -value; }
double share_is_small(double part, double all) { return -part / all; }
double different_is_bad(double label, double prediction) { return label == prediction ? 0 : 1; }

constexpr std::string_view kLargestLoss = "largest loss first";

// The columns are those of the task's predictions.h5 (docs/formats.md).
constexpr BadnessRule kByLoss{.order = kLargestLoss, .badness = large_is_bad, .columns = {"loss"}};
constexpr BadnessRule kByLossOfClasses{.has_classes = true,
                                       .wrong = Wrong::prediction,
                                       .order = kLargestLoss,
                                       .badness = large_is_bad,
                                       .columns = {"loss"}};
constexpr BadnessRule kByObjects{.wrong = Wrong::parts,
                                 .order = "smallest share of objects found first",
                                 .badness = share_is_small,
                                 .columns = {"correct", "annotated"}};
constexpr BadnessRule kByPixels{.wrong = Wrong::parts,
                                .order = "smallest share of right pixels first",
                                .badness = share_is_small,
                                .columns = {"correct", "pixels"}};
constexpr BadnessRule kByTokens{.wrong = Wrong::parts,
                                .order = "smallest share of right tokens first",
                                .badness = share_is_small,
                                .columns = {"correct", "tokens"}};
constexpr BadnessRule kByUnitPrediction{.wrong = Wrong::unit_prediction,
                                        .order = "wrong ones first",
                                        .badness = different_is_bad,
                                        .columns = {"label", "prediction"}};
constexpr BadnessRule kByF1{.wrong = Wrong::exact_match,
                            .order = "lowest f1 first",
                            .badness = small_is_bad,
                            .columns = {"f1"},
                            .tie_break = "score"};

const BadnessRule* badness_rule_of(TaskKind task) {
  switch (task) {
    case TaskKind::binary:
    case TaskKind::multiclass:
    case TaskKind::multilabel:
      return &kByLossOfClasses;
    case TaskKind::language_model:
    case TaskKind::regression:
      return &kByLoss;
    case TaskKind::detection:
      return &kByObjects;
    case TaskKind::segmentation:
      return &kByPixels;
    case TaskKind::token_classification:
      return &kByTokens;
    case TaskKind::multiple_choice:
      return &kByUnitPrediction;
    case TaskKind::question_answering:
      return &kByF1;
    case TaskKind::predict:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

const BadnessRule* find_badness_rule(std::string_view task) {
  const TaskTraits* found = find_task_traits(task);
  return found == nullptr ? nullptr : badness_rule_of(found->kind);
}

const BadnessRule& badness_rule_of(std::string_view task) {
  if (const BadnessRule* const found = find_badness_rule(task)) return *found;
  throw Error(ErrorKind::usage,
              format("the rows of the task {} are neither right nor wrong", printable(task)),
              "Look at them with --show N or --group NAME=VALUE.");
}

bool is_worse(const RankedRow& a, const RankedRow& b) {
  // NaN is equal to NaN and worse than any number, which makes this a strict order that sorting may
  // rely on. Rows are all different, so the result does not depend on the order in which they were
  // added.
  const auto differ = [](double left, double right) {
    return left != right && !(std::isnan(left) && std::isnan(right));
  };
  const auto worse = [](double left, double right) {
    return std::isnan(left) || (!std::isnan(right) && left > right);
  };
  if (differ(a.badness, b.badness)) return worse(a.badness, b.badness);
  if (differ(a.tie_break, b.tie_break)) return worse(a.tie_break, b.tie_break);
  return a.row < b.row;
}

void WorstRows::add(const RankedRow& row) {
  // The least bad of the rows is in front of the heap: a row that is no worse is dropped at once.
  if (std::ssize(rows_) == most_) {
    if (!is_worse(row, rows_.front())) return;
    std::ranges::pop_heap(rows_, is_worse);
    rows_.pop_back();
  }
  rows_.push_back(row);
  std::ranges::push_heap(rows_, is_worse);
}

std::vector<std::int64_t> WorstRows::take() {
  std::ranges::sort(rows_, is_worse);
  std::vector<std::int64_t> rows;
  std::ranges::transform(rows_, std::back_inserter(rows), &RankedRow::row);
  return rows;
}

}  // namespace tally::predictions
