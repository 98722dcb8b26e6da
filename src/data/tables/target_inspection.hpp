// SPDX-License-Identifier: Apache-2.0
// What the targets of a data set are, counted, and lines about each of what num_classes counts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/data/data_set.hpp>

#include "schema/task_rules.hpp"

namespace tally::data {

using Lines = std::vector<std::string>;

inline constexpr std::int64_t kMaxShown = 20;  // classes, labels or outputs

// One line for each of the first of what num_classes counts.
template <class Text>
void append_each(Lines& lines, const DataSetInfo& info, const Text& text_of) {
  const std::int64_t num_shown = std::min(info.num_classes, kMaxShown);
  for (std::int64_t c = 0; c < num_shown; ++c) {
    lines.push_back(format("  {}: {}", counted_name(info, c), text_of(c)));
  }
  if (num_shown < info.num_classes) {
    lines.push_back(
        format("  … and {} more {}", info.num_classes - num_shown, task_traits(info.task).many));
  }
}

// Samples of each class, positives of each label, or least, mean and greatest value of each output
// (at most 20 one by one); ignored ones; values that are not allowed (the first 10 with their
// place). Reads /targets/label; of a task without labels the tables.
std::vector<std::string> label_report(DataSet& data_set);

}  // namespace tally::data
