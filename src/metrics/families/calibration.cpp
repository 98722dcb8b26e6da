// SPDX-License-Identifier: Apache-2.0
#include "families/calibration.hpp"

#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

// A bin adds to the errors how far its confidences and its right predictions are apart. Their means
// differ by apart / samples; kept as sums, n of the weight n / N cancels.
struct Gap {
  double samples = 0;
  double apart = 0;  // sum of confidences - right predictions
};

class Calibration : public Family {
 public:
  explicit Calibration(const MetricOptions& options)
      : bins_(checked_cast<std::int32_t>(options.calibration_bins)),
        definitions_(options.definitions) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    // torchmetrics has one bin more than asked for: a confidence of exactly 1 lies behind the last
    // edge. Both definitions are made of these counters, so that a State does not depend on the
    // choice.
    counts_ = layout.add_counters("calibration.counts", std::int64_t{2} * (bins_ + 1));
    for (std::int32_t bin = 0; bin <= bins_; ++bin) {
      sums_.push_back(layout.add_sum(format("calibration.sum_{}", bin), kSumKind));
    }
    counters.calibration = {counts_.offset, sums_.front().offset, sums_.front().length, bins_};
  }

  void finalize(const exact::State& state, Results& results) const override {
    std::vector<Gap> gaps;
    // The textbook's last bin is closed: it has the samples of confidence 1.
    const bool is_textbook = definitions_ == Definitions::sklearn;
    for (std::int32_t bin = 0; bin < bins_ + (is_textbook ? 0 : 1); ++bin) {
      add_bin(state, bin, is_textbook && bin == bins_ - 1 ? bins_ : bin, gaps, results);
    }
    append_errors(gaps, results);
  }

 private:
  // Takes the bins first to last as one.
  void add_bin(const exact::State& state, std::int32_t first, std::int32_t last,
               std::vector<Gap>& gaps, Results& results) const {
    ReliabilityBin made;
    made.low = bin_edge(first, bins_);
    // The additional bin has no width.
    made.high = first == bins_ ? 1.0 : bin_edge(first + 1, bins_);
    double confidences = 0;
    for (std::int32_t bin = first; bin <= last; ++bin) {
      made.count += state.of(counts_)[to_size(2 * bin)];
      made.correct += state.of(counts_)[to_size(2 * bin + 1)];
      confidences += exact::value(state.of(sums_[to_size(bin)]), kSumKind);
    }
    const auto samples = static_cast<double>(made.count);
    if (made.count > 0) made.confidence = confidences / samples;
    gaps.push_back({samples, std::abs(confidences - static_cast<double>(made.correct))});
    results.reliability.push_back(made);
  }

  static void append_errors(const std::vector<Gap>& gaps, Results& results) {
    std::optional<double> mean, square, most;
    if (results.counts.finite() > 0) {
      // The errors are those of MulticlassCalibrationError and BinaryCalibrationError with
      // norm="l1", "l2" and "max": sum of n/N |gap|, root of the sum of n/N gap^2, largest |gap|.
      const auto all = static_cast<double>(results.counts.finite());
      double sum = 0;
      double squares = 0;
      double largest = 0;
      for (const Gap& gap : gaps) {
        // An empty bin adds nothing to any of them.
        if (gap.samples == 0) continue;
        sum += gap.apart;
        squares += gap.apart * gap.apart / gap.samples;
        largest = std::max(largest, gap.apart / gap.samples);
      }
      mean = sum / all;
      square = std::sqrt(squares / all);
      most = largest;
    }
    results.metrics.push_back({"ece", mean});
    results.metrics.push_back({"calibration_error_l2", square});
    results.metrics.push_back({"calibration_error_max", most});
  }

  std::int32_t bins_;
  Definitions definitions_;
  exact::StateSpan counts_;
  std::vector<exact::StateSpan> sums_;
};

}  // namespace

FamilyEntry calibration_family() {
  return {.metrics = {{.name = "ece",
                       .definition =
                           "expected calibration error: mean distance of confidence, accuracy",
                       .less_is_better = true},
                      {.name = "calibration_error_l2",
                       .definition = "the same, root of the mean square distance",
                       .standard = false,
                       .less_is_better = true},
                      {.name = "calibration_error_max",
                       .definition = "the same, largest distance of a bin",
                       .standard = false,
                       .less_is_better = true}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Calibration>(options);
          }};
}

}  // namespace tally::metrics
