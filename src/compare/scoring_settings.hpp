// SPDX-License-Identifier: Apache-2.0
// What a predictions.h5 says of how its samples were judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

#include "saved_run.hpp"

namespace tally::compare {

struct ScoringSettings {
  std::int64_t num_classes = 0;  // of a regression: outputs
  std::optional<std::int64_t> ignore_index;
  metrics::Definitions definitions = metrics::Definitions::torchmetrics;
  std::int64_t calibration_bins = 15;
  double label_smoothing = 0;
  bool has_class_weights = false;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  double threshold = 0.5;                            // of the tasks binary and multilabel
  std::optional<ordered_metrics::ScoreKeys> curves;  // none in files that do not say it
};
ScoringSettings scoring_settings(const SavedRun& run);

// By which both runs are compared, without names of metrics.
metrics::MetricOptions options_of(const std::string& task, const ScoringSettings& settings);

// Scores of a run, and what they are.
struct ScoreColumn {
  std::string name;
  metrics::OutputKind kind;
};

// One run and what is known of it before its rows are read.
struct KnownRun {
  explicit KnownRun(const SavedRun& saved) : run(saved), settings(scoring_settings(saved)) {}

  const SavedRun& run;
  ScoringSettings settings;
};

struct TwoRuns {
  KnownRun a, b;
};

// Whether only classes were saved of a run, so that there are no scores at all.
inline bool has_classes_alone(const KnownRun& known) {
  return known.settings.outputs == metrics::OutputKind::classes;
}
// Whether neither is such a run: else both are compared by their classes.
inline bool have_scores(const TwoRuns& runs) {
  return !has_classes_alone(runs.a) && !has_classes_alone(runs.b);
}

// Error(dataset) unless both are of the same classes.
void require_same_classes(const TwoRuns& runs);

// Where both are compared by A's settings, metrics that are compared depend on them, and B had
// others.
std::vector<std::string> notes_on_settings(const TwoRuns& runs,
                                           const metrics::MetricOptions& options);

// "A", "B" or "A and B", for which `lacks` holds; empty if for neither.
template <class Lacks>
std::string who(const TwoRuns& runs, const Lacks& lacks) {
  const bool a = lacks(runs.a);
  const bool b = lacks(runs.b);
  return a && b ? "A and B" : a ? "A" : b ? "B" : "";
}

}  // namespace tally::compare
