// SPDX-License-Identifier: Apache-2.0
// A batch through a task's scorer.
#pragma once

#include <tally/tasks/task.hpp>

namespace tally::tasks {

// What the second time leaves: what is left of the batch before must not matter. Both are counted.
inline CollectedBatch score_twice(const Task& task, const ScoredBatch& batch, exact::State& state) {
  const device::Stream stream{device::Device{}};
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task.make_scorer(batch.num_samples, {});
  CollectedBatch collected;
  for (int i = 0; i < 2; ++i) {
    scorer->enqueue(batch, counts);
    scorer->collect(collected);
  }
  return collected;
}

}  // namespace tally::tasks
