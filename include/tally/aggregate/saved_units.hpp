// SPDX-License-Identifier: Apache-2.0
// Reads units of a predictions.h5, as they were put together when it was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/predictions/saved_rows.hpp>

namespace tally::app {

// Some units that follow one another, as UnitAggregator would have put them together.
template <class Partial>
struct SavedUnits {
  std::vector<UnitPart<Partial>> parts;
  std::int64_t cut = -1;  // the unit of which --limit left some samples out; -1: none
};

inline constexpr std::string_view kNameOtherData = "Name the data set that was predicted.";

// Throws Error(dataset) naming the file.
[[noreturn]] void throw_saved_units_error(
    const predictions::SavedRows& saved, const std::string& problem,
    std::string_view next_step = "The file is damaged: evaluate again.");

// The unit as the one that is cut. Throws Error(dataset) if it is not the last one: only of the
// last unit that was evaluated samples can be missing.
std::int64_t cut_unit(const predictions::SavedRows& saved, std::int64_t unit);

}  // namespace tally::app
