// SPDX-License-Identifier: Apache-2.0
// Chooses the rows of a predictions.h5 that a person wants to see, for `tally inspect`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tally/predictions/saved_rows.hpp>

namespace tally::predictions {

struct RowsWanted {
  std::int64_t most = 20;  // so many at most
  bool worst = false;      // the worst ones; else the first ones, by index
  bool wrong = false;      // only those that are predicted wrongly
  std::optional<std::int64_t> label{}, prediction{};  // only those of this class
  // Clears the marks of units that are not wanted for another reason; may be empty.
  std::function<void(std::span<const std::int64_t> indices, std::span<std::uint8_t> keep)> also{};
};

struct ChosenRows {
  std::vector<std::int64_t> rows;  // places in the file
  std::int64_t num_matching = 0;   // how many there were to choose from
  std::string_view order;          // "largest loss first"
};

// Whether label and prediction of a task's rows are classes, which a data set may name.
bool has_classes(std::string_view task);

// Reads the columns it needs in windows, so that its memory does not grow with the file. Samples
// whose label is not scored, or of whose pixels or tokens none is, are neither wrong nor among the
// worst. What is not a number comes first, equal ones by index. Error(usage) where the task has no
// such order, classes or wrong rows.
ChosenRows choose_rows(const SavedRows& saved, const RowsWanted& wanted);

}  // namespace tally::predictions
