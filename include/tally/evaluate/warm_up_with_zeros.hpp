// SPDX-License-Identifier: Apache-2.0
// Tries, warms up and times model and task by batches of zeros, before there are data.
#pragma once

#include <cstdint>
#include <span>

#include <tally/data/data_set.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/model/predictor.hpp>
#include <tally/tasks/task.hpp>

namespace tally::evaluate {

// One batch of zeros of the true shape through preparation, model and task, so that what must fail
// fails before the loop, and the model finds out how to run such batches; waits for the stream.
// Counts nothing. Error(model) if the output is not what the task expects.
void warm_up_batch(const data::DataSetInfo& info, std::int64_t batch_size,
                   std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
                   const device::Stream& stream);
// The same by a few samples, where the model can tell by them: a batch may take a second.
void warm_up(const data::DataSetInfo& info, std::int64_t batch_size,
             std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
             const device::Stream& stream);

// One batch of zeros through preparation, a model that is warm for others, and task: so that what
// sequences longer than those of the warm-up do to them shows before the loop.
void run_batch(const data::DataSetInfo& info, std::int64_t batch_size,
               std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
               const device::Stream& stream);

// Scores a batch of zeros with each scorer, into counts that are thrown away. Scorers then have the
// memory for any batch of this size, also of texts, of which none is longer than the zeros.
void warm_scorers(const data::DataSetInfo& info, std::int64_t batch_size,
                  std::span<InputBinding> bindings, model::Predictor& predictor,
                  const tasks::Task& task, const device::Stream& stream,
                  std::span<tasks::BatchScorer* const> scorers);

// What a batch of zeros takes from the model alone, which is warm for batches of that size: the
// shortest of a few.
double seconds_of_batch(const data::DataSetInfo& info, std::int64_t batch_size,
                        std::span<InputBinding> bindings, model::Predictor& predictor,
                        const device::Stream& stream);

}  // namespace tally::evaluate
