// SPDX-License-Identifier: Apache-2.0
// The samples of two runs as a task has them, ready to be counted, and which metrics they are
// compared by. One implementation per kind of sample; read_pair() knows which task has which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/compare/comparison.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/precomputed_updates.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/spearman.hpp>

#include "saved_run.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {

// Metrics of one run that are made of all its scores in order.
class CurveMetrics {
 public:
  explicit CurveMetrics(std::vector<std::string> names) : names_(std::move(names)) {}
  virtual ~CurveMetrics() = default;

  const std::vector<std::string>& names() const { return names_; }
  // One value a name. One weight a sample: the values of a replicate; no weights: of the run.
  virtual std::vector<std::optional<double>> values(metrics::RowWeights weights) const = 0;

 private:
  std::vector<std::string> names_;
};

// Those of `names` that are made of curves. Reads the rows before it returns; null if there are no
// such names.
std::unique_ptr<CurveMetrics> make_curve_metrics(const std::vector<std::string>& names,
                                                 const ordered_metrics::ScoreRows& rows,
                                                 ordered_metrics::ScoreKeys keys,
                                                 const ordered_metrics::CurveRules& rules);

// Spearman's correlation, if it is one of `names`; else null.
std::unique_ptr<CurveMetrics> make_spearman(const std::vector<std::string>& names,
                                            const ordered_metrics::PairRows& rows);

class PairedSamples {
 public:
  virtual ~PairedSamples() = default;

  virtual std::int64_t size() const = 0;
  // Global index of a sample.
  virtual std::uint64_t index_of(std::int64_t sample) const = 0;
  // Those that are compared.
  virtual const metrics::MetricSet& metrics() const = 0;
  // Of one run, samples [first, first + count).
  virtual metrics::PrecomputedUpdates prepare(Side side, std::int64_t first,
                                              std::int64_t count) const = 0;
  // The metrics of one run that are made of all scores in order; null where none is compared.
  virtual std::unique_ptr<CurveMetrics> ordered(Side side) const = 0;
  // Samples whose label is not scored.
  virtual std::int64_t num_ignored() const = 0;
  // Whether a run has finite outputs for a sample.
  virtual bool is_finite(Side side, std::int64_t sample) const = 0;
  // As Comparison::outcomes.
  virtual std::optional<Outcomes> outcomes() const = 0;
  // At most `most` of them are listed.
  virtual Changes changes(std::int64_t most) const = 0;
};

// What a reader makes of two runs of the same samples.
struct ReadPair {
  std::unique_ptr<PairedSamples> samples;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

// `names` as in MetricOptions. See compare_runs() for what it throws.
ReadPair read_pair(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names);

// Why a metric cannot be compared: "needs the column …"; none if it can.
using Obstacle = std::function<std::optional<std::string>(const std::string& metric)>;

// The metrics that can be compared, as A's settings have them; those that cannot, and what is to be
// said of settings that differ, go into `pair`. `asked` as MetricOptions::names. Error(usage) names
// one that was asked for by its own name and cannot be compared, or that is not known; or there is
// none. Error(dataset) unless both runs are of the same classes.
metrics::MetricOptions choose_metrics(const std::string& task, const TwoRuns& runs,
                                      const std::vector<std::string>& asked,
                                      const Obstacle& obstacle_of, ReadPair& pair);

// Why curves cannot be made of so many scores, or of these files; none if they can.
std::optional<std::string> obstacle_of_curves(const TwoRuns& runs, std::int64_t num_scores);

// "needs the column 'logits', missing in A; --save labels,logits gives it"
std::string lack_of_column(const std::string& column, const std::string& who,
                           bool logits_do_too = false);

}  // namespace tally::compare
