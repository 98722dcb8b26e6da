// SPDX-License-Identifier: Apache-2.0
// A binary or multilabel run as rows that metrics count.
#pragma once

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multilabel_pass.hpp>

#include "saved_run.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {

// What a file holds of the labels' scores. outputs: what the model returned, but of a label with
// two scores their difference, rounded; probabilities: rounded to float32.
enum class SavedLabelScores { predictions_only, probabilities, outputs };

struct LabelRun {
  // with_scores: else its predictions alone are looked at, whatever was saved.
  LabelRun(const KnownRun& known, bool with_scores);

  const SavedRun& run;
  const ScoringSettings& settings;
  bool is_binary;
  bool uses_scores;
  bool has_logits;
  bool has_probabilities;  // of a binary run always: its column is "score"
  std::int64_t num_labels;
  Shape row_shape;  // of columns with one value a label
  float threshold;  // at which its labels are predicted

  SavedLabelScores saved_scores() const;
  const char* probability_column() const { return is_binary ? "score" : "probabilities"; }
};

// The samples as the columns have them: loss rounded to float32, Brier score, hinge loss and
// rankings missing, no label counted as right. Where only predictions are saved, 1 and 0 stand for
// the probabilities of labels that are predicted and of those that are not. Error(dataset) names a
// value that cannot be.
metrics::LabelStatistics statistics_of_columns(const LabelRun& run);

// Whether the loss, too, comes from the scores, which hold it only where they are outputs.
enum class LossFrom { column, scores };
// Examines scores as `tally evaluate` does: with LossFrom::scores the best there are; with
// LossFrom::column probabilities rounded to float32, so that two runs are measured alike whatever
// they saved.
// Error(dataset) where they contradict the columns.
void add_scores(const LabelRun& run, const metrics::MetricOptions& options, LossFrom loss,
                metrics::LabelStatistics& stats);

// Counts the labels that are right at a threshold.
void count_right(float threshold, metrics::LabelStatistics& stats);

}  // namespace tally::compare
