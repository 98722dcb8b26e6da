// SPDX-License-Identifier: Apache-2.0
// What is worst, and what is wrong, of each task's rows in a predictions.h5.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tally::predictions {

// What makes a row wrong. unit_prediction: as prediction, of one label, which is negative where the
// row's unit is not scored, as not all of its samples were evaluated.
enum class Wrong { unknown, prediction, unit_prediction, exact_match, parts };

// The larger of two is worse; NaN is the worst.
using Badness = double (*)(double first, double second);

struct BadnessRule {
  bool has_classes = false;  // /label and /prediction are classes, or a mark for each
  Wrong wrong = Wrong::unknown;
  std::string_view order = {};  // for people
  Badness badness = nullptr;
  std::array<std::string_view, 2> columns = {};  // that it is given; the second may be empty
  std::string_view tie_break = {};  // a column, where the file has it: the smaller value is worse
};

// Null for `predict`, and for a word that is no task.
const BadnessRule* find_badness_rule(std::string_view task);
// Error(usage) for it.
const BadnessRule& badness_rule_of(std::string_view task);

struct RankedRow {
  double badness = 0;
  double tie_break = 0;  // the larger is worse
  std::int64_t row = 0;
};

bool is_worse(const RankedRow& a, const RankedRow& b);

// The worst of all rows that were added, in the memory of as many as are wanted.
class WorstRows {
 public:
  explicit WorstRows(std::int64_t most) : most_(most) {}
  void add(const RankedRow& row);
  // Worst first; ends the adding.
  std::vector<std::int64_t> take();

 private:
  std::int64_t most_;
  std::vector<RankedRow> rows_;  // a heap, the least bad in front
};

}  // namespace tally::predictions
