#include "ranking.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::predictions {
namespace {

double large_is_bad(double value, double /*second*/) { return value; }
double small_is_bad(double value, double /*second*/) { return -value; }
double share_is_small(double part, double all) { return -part / all; }
double different_is_bad(double label, double prediction) { return label == prediction ? 0 : 1; }

constexpr std::string_view kLargestLoss = "largest loss first";

// One line per task that is scored.
constexpr Ranking kRankings[] = {
    {"binary", true, Wrong::prediction, kLargestLoss, large_is_bad, {"loss"}, {}},
    {"detection",
     false,
     Wrong::parts,
     "smallest share of objects found first",
     share_is_small,
     {"correct", "annotated"},
     {}},
    {"language-model", false, Wrong::unknown, kLargestLoss, large_is_bad, {"loss"}, {}},
    {"multiclass", true, Wrong::prediction, kLargestLoss, large_is_bad, {"loss"}, {}},
    {"multilabel", true, Wrong::prediction, kLargestLoss, large_is_bad, {"loss"}, {}},
    {"multiple-choice",
     false,
     Wrong::choice,
     "wrong ones first",
     different_is_bad,
     {"label", "prediction"},
     {}},
    {"question-answering",
     false,
     Wrong::exact_match,
     "lowest f1 first",
     small_is_bad,
     {"f1"},
     "score"},
    {"regression", false, Wrong::unknown, kLargestLoss, large_is_bad, {"loss"}, {}},
    {"segmentation",
     false,
     Wrong::parts,
     "smallest share of right pixels first",
     share_is_small,
     {"correct", "pixels"},
     {}}};

}  // namespace

const Ranking* find_ranking(std::string_view task) {
  const auto* const found = std::ranges::find(kRankings, task, &Ranking::task);
  return found == std::end(kRankings) ? nullptr : found;
}

const Ranking& ranking_of(std::string_view task) {
  if (const Ranking* const found = find_ranking(task)) return *found;
  throw Error(ErrorKind::usage,
              format("the rows of the task {} are neither right nor wrong", printable(task)),
              "Look at them with --show N or --group NAME=VALUE.");
}

bool is_worse(const RankedRow& a, const RankedRow& b) {
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
