// SPDX-License-Identifier: Apache-2.0
#include "progress_observer.hpp"

#include <algorithm>
#include <cmath>

namespace tally::app {
namespace {

// Once a second is enough for a person; but finalising touches every class, and where that takes
// long it may take one part in a hundred of the time.
constexpr double kMetricsInterval = 1.0;
constexpr double kTimesItsCost = 100;

}  // namespace

ProgressObserver::ProgressObserver(report::ProgressStyle style, report::EventLog& events,
                                   const tasks::Task& task, std::int64_t own_samples,
                                   std::int64_t total_samples, std::int64_t done_before)
    : display_(style, done_before + total_samples),
      events_(events),
      task_(task),
      own_samples_(own_samples),
      total_samples_(total_samples),
      done_before_(done_before) {}

void ProgressObserver::batch_done(std::int64_t samples_done, const exact::State& state) {
  const double share = static_cast<double>(samples_done) / static_cast<double>(own_samples_);
  const auto scaled =
      done_before_ + (samples_done == own_samples_
                          ? total_samples_
                          : std::llround(share * static_cast<double>(total_samples_)));
  if (!any_metrics_ || since_metrics_.elapsed_s() >= metrics_interval_s_ ||
      samples_done == own_samples_) {
    refresh_metrics(scaled, state);
  }
  display_.update(scaled, accuracy_);
}

void ProgressObserver::refresh_metrics(std::int64_t scaled, const exact::State& state) {
  const Stopwatch cost;
  // The loop goes on adding to its state, which must not be changed here.
  exact::State copy = state;
  copy.canonicalise();
  const auto results = task_.finalize(copy);
  for (const auto& metric : results.metrics) {
    // The accuracy of a part of the samples would not be the number that the report gives later.
    const bool sees_all = own_samples_ == total_samples_ && done_before_ == 0;
    if (sees_all && metric.name == "accuracy") accuracy_ = metric.value;
  }
  events_.progress(scaled, done_before_ + total_samples_,
                   static_cast<double>(scaled - done_before_) / since_start_.elapsed_s(),
                   results.metrics, results.units.count);
  any_metrics_ = true;
  metrics_interval_s_ = std::max(kMetricsInterval, kTimesItsCost * cost.elapsed_s());
  since_metrics_ = Stopwatch();
}

}  // namespace tally::app
