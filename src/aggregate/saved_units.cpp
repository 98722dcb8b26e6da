// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/saved_units.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::app {

void throw_saved_units_error(const predictions::SavedRows& saved, const std::string& problem,
                             std::string_view next_step) {
  throw Error(ErrorKind::dataset, format("predictions file '{}': {}", saved.name(), problem),
              next_step);
}

std::int64_t cut_unit(const predictions::SavedRows& saved, std::int64_t unit) {
  if (unit == saved.num_rows() - 1) return unit;
  throw_saved_units_error(saved, format("row {} is of a part, and not the last one", unit));
}

}  // namespace tally::app
