// SPDX-License-Identifier: Apache-2.0
// The columns of a multiclass run as rows that metrics count.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/sample_records.hpp>

#include "saved_run.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {

// Scores of all classes that a file may hold.
enum class SavedScores { none, probabilities, outputs };  // outputs: just what the model returned
SavedScores saved_scores(const SavedRun& run, const ScoringSettings& settings);

// The rows as the columns index, label, prediction, label_rank, loss and confidence have them:
// the last two rounded to float32; Brier score and hinge loss are NaN. Error(dataset) names a value
// that cannot be.
std::vector<metrics::MulticlassRecord> rows_of_columns(const SavedRun& run,
                                                       const ScoringSettings& settings);

// The same of the columns index, label and prediction alone, as metrics::decided_records() has
// them.
std::vector<metrics::MulticlassRecord> rows_of_classes(const SavedRun& run,
                                                       const ScoringSettings& settings);

// Which statistics of a sample come from its scores.
enum class FromScores { all, brier_and_hinge };
// Examines the saved scores as `tally evaluate` does; for the second as probabilities rounded to
// float32, which every file with scores has or can be brought to: two runs are then measured alike.
// Error(dataset) where they contradict the rows.
void add_scores(const SavedRun& run, const ScoringSettings& settings,
                const metrics::MetricOptions& options, FromScores what,
                std::vector<metrics::MulticlassRecord>& rows);

// Reads the probabilities of all classes of samples first .. first + count - 1, [count, classes],
// made as `tally evaluate` makes them of the scores that add_scores() examines.
using ReadProbabilities =
    std::function<void(std::int64_t first, std::int64_t count, std::span<float> probabilities)>;
ReadProbabilities probabilities_of(const SavedRun& run, const ScoringSettings& settings);

}  // namespace tally::compare
