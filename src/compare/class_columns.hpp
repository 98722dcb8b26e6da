// The columns of a multiclass run as rows that metrics count.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/metrics/class_row.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/output_kind.hpp>

#include "saved_run.hpp"

namespace tally::compare {

// What the file says of how its samples were judged.
struct ClassSettings {
  std::int64_t num_classes = 0;
  std::optional<std::int64_t> ignore_index;
  metrics::Definitions definitions = metrics::Definitions::torchmetrics;
  std::int64_t calibration_bins = 15;
  double label_smoothing = 0;
  bool has_class_weights = false;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
};
ClassSettings class_settings(const SavedRun& run);

// Scores of all classes that a file may hold.
enum class SavedScores { none, probabilities, outputs };  // outputs: just what the model returned
SavedScores saved_scores(const SavedRun& run, const ClassSettings& settings);

// The rows as the columns index, label, prediction, label_rank, loss and confidence have them:
// the last two rounded to float32; Brier score and hinge loss are NaN. Error(dataset) names a value
// that cannot be.
std::vector<metrics::ClassRow> rows_of_columns(const SavedRun& run, const ClassSettings& settings);

// Which facts of a sample come from its scores.
enum class FromScores { all, brier_and_hinge };
// Examines the saved scores as `tally evaluate` does. Error(dataset) where they contradict the
// rows.
void add_scores(const SavedRun& run, const ClassSettings& settings,
                const metrics::MetricOptions& options, FromScores what,
                std::vector<metrics::ClassRow>& rows);

}  // namespace tally::compare
