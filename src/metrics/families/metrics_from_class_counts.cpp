// SPDX-License-Identifier: Apache-2.0
#include "families/metrics_from_class_counts.hpp"

#include <algorithm>
#include <array>

#include <tally/metrics/name_patterns.hpp>

namespace tally::metrics {
namespace {

double as_double(std::int64_t count) { return static_cast<double>(count); }

}  // namespace

std::optional<double> Ratio::value() const {
  if (whole == 0) return std::nullopt;
  return part / whole;
}

Ratio precision(const ClassCount& count) {
  return {as_double(count.correct), as_double(count.predicted)};
}

Ratio recall(const ClassCount& count) {
  return {as_double(count.correct), as_double(count.support)};
}

// Of the units of other classes it is the share that is not predicted as this one, as in
// MulticlassSpecificity. One without a prediction is among them.
Ratio specificity(const ClassCount& count) {
  const std::int64_t negatives = count.all - count.support;
  return {as_double(negatives - (count.predicted - count.correct)), as_double(negatives)};
}

Ratio jaccard(const ClassCount& count) {
  return {as_double(count.correct), as_double(count.support + count.predicted - count.correct)};
}

// This is (1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp) in other words: support is tp + fn, predicted
// is tp + fp.
Ratio f_beta(const ClassCount& count, double beta) {
  const double square = beta * beta;
  return {(1 + square) * as_double(count.correct),
          square * as_double(count.support) + as_double(count.predicted)};
}

std::vector<Ratio> ratios_of(std::span<const ClassCount> counts,
                             Ratio (*metric)(const ClassCount&)) {
  std::vector<Ratio> ratios;
  for (const ClassCount& count : counts) ratios.push_back(metric(count));
  return ratios;
}

std::vector<double> betas_asked(const std::vector<std::string>& names,
                                const std::vector<std::string>& forms) {
  std::vector<double> betas;
  for (const std::string& form : forms) {
    for (const double beta : numbers_asked(names, form)) {
      // F1 is always computed; a second one would have its name.
      if (beta != 1) betas.push_back(beta);
    }
  }
  std::sort(betas.begin(), betas.end());
  betas.erase(std::unique(betas.begin(), betas.end()), betas.end());
  return betas;
}

std::string_view name(Average average) {
  constexpr std::array<std::string_view, 3> kNames{"macro", "micro", "weighted"};
  return kNames.at(static_cast<std::size_t>(average));
}

// torchmetrics leaves out a class that is neither a label nor a prediction, but not where labels
// are scored one by one. For classes scikit-learn's default set of labels leads to the same.
std::optional<double> macro(std::span<const ClassCount> counts, std::span<const Ratio> ratios,
                            Absent absent) {
  double sum = 0;
  std::int64_t num_classes = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const bool is_absent = counts[c].support + counts[c].predicted == 0;
    if (is_absent && absent == Absent::left_out) continue;
    sum += ratios[c].value().value_or(0.0);
    ++num_classes;
  }
  if (num_classes == 0) return std::nullopt;
  return sum / as_double(num_classes);
}

Ratio micro(std::span<const Ratio> ratios) {
  Ratio total;
  for (const Ratio& ratio : ratios) {
    total.part += ratio.part;
    total.whole += ratio.whole;
  }
  return total;
}

// The weights are the supports, as for average="weighted" in torchmetrics and scikit-learn.
std::optional<double> weighted(std::span<const ClassCount> counts, std::span<const Ratio> ratios) {
  double sum = 0;
  std::int64_t units = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    sum += as_double(counts[c].support) * ratios[c].value().value_or(0.0);
    units += counts[c].support;
  }
  if (units == 0) return std::nullopt;
  return sum / as_double(units);
}

}  // namespace tally::metrics
