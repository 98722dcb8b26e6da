// SPDX-License-Identifier: Apache-2.0
// What the scores of one row tell, on the CPU.
#pragma once

#include <span>

#include <tally/metrics/multiclass_statistics.hpp>

namespace tally::metrics {

// Everything but index and label, which is in range unless ignored: else Error(internal). False if
// the scores are finite and not of the rules' kind.
bool compute_row_statistics(std::span<const float> row, const ScoreRules& rules,
                            MulticlassRecord& made);

}  // namespace tally::metrics
