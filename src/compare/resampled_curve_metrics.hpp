// SPDX-License-Identifier: Apache-2.0
// Metrics that are made of all scores of a run in order, of the run and of its bootstrap
// replicates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/metrics/metric_set.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::compare {

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

}  // namespace tally::compare
