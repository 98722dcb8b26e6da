// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/warm_up_with_zeros.hpp>

#include <algorithm>
#include <vector>

#include <tally/base/clock.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>

namespace tally::evaluate {
namespace {

// A time is the shortest of at least so many batches, and of all that begin within this time.
constexpr int kTimedBatches = 3;
constexpr double kTimedSeconds = 0.2;

// Holds `rows` samples of zeros, prepared for the model.
class ZeroBatch {
 public:
  ZeroBatch(const data::DataSetInfo& info, std::int64_t rows, std::span<InputBinding> bindings,
            const device::Stream& stream)
      : rows_(rows) {
    for (const auto& column : info.columns.inputs) add(column, zeros_.inputs, stream);
    for (const auto& column : info.columns.targets) add(column, zeros_.targets, stream);
    prepared_ = prepare(zeros_, bindings, stream);
  }

  std::int64_t rows() const { return rows_; }
  std::span<const TensorView> inputs() const { return prepared_; }
  const std::vector<TensorView>& targets() const { return zeros_.targets; }

 private:
  void add(const data::ColumnInfo& column, std::vector<TensorView>& tensors,
           const device::Stream& stream) {
    // This memory is zero at first.
    memory_.emplace_back(rows_ * column.row_bytes(), stream.device());
    tensors.push_back(contiguous_view(memory_.back().data(), column.dtype,
                                      shape_of_rows(rows_, column.row_shape),
                                      stream.device().kind));
  }

  std::int64_t rows_;
  std::vector<device::DeviceBuffer> memory_;
  data::Batch zeros_;
  std::vector<TensorView> prepared_;
};

// What these find of zeros does not matter: a model may well make NaN of them.
void score(const ZeroBatch& zeros, const model::Outputs& outputs, std::int64_t batch_size,
           tasks::Task& task, const device::Stream& stream) {
  // What scorers need to know of the outputs is settled before they are made.
  task.bind_output_shapes(outputs);
  exact::State state(task.layout());
  metrics::DeviceAccumulator counts(state, stream);
  const auto scorer = task.make_scorer(batch_size, stream.device());
  scorer->enqueue({0, zeros.rows(), {}, outputs, zeros.targets()}, counts);
  counts.finish();
  stream.synchronize();
}

}  // namespace

void warm_up_batch(const data::DataSetInfo& info, std::int64_t batch_size,
                   std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
                   const device::Stream& stream) {
  const ZeroBatch batch(info, batch_size, bindings, stream);
  score(batch, predictor.warm_up(batch.inputs()), batch_size, task, stream);
}

void warm_up(const data::DataSetInfo& info, std::int64_t batch_size,
             std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
             const device::Stream& stream) {
  // Few samples take less time; where they cannot settle the form, the whole batch runs.
  if (batch_size > model::kFewSamples) {
    const ZeroBatch few(info, model::kFewSamples, bindings, stream);
    if (const auto outputs = predictor.warm_up_small(few.inputs(), batch_size)) {
      return score(few, *outputs, batch_size, task, stream);
    }
  }
  warm_up_batch(info, batch_size, bindings, predictor, task, stream);
}

void run_batch(const data::DataSetInfo& info, std::int64_t batch_size,
               std::span<InputBinding> bindings, model::Predictor& predictor, tasks::Task& task,
               const device::Stream& stream) {
  const ZeroBatch batch(info, batch_size, bindings, stream);
  score(batch, predictor.predict(batch.inputs()), batch_size, task, stream);
}

void warm_scorers(const data::DataSetInfo& info, std::int64_t batch_size,
                  std::span<InputBinding> bindings, model::Predictor& predictor,
                  const tasks::Task& task, const device::Stream& stream,
                  std::span<tasks::BatchScorer* const> scorers) {
  const ZeroBatch batch(info, batch_size, bindings, stream);
  const auto outputs = predictor.predict(batch.inputs());
  exact::State state(task.layout());
  metrics::DeviceAccumulator counts(state, stream);
  for (auto* const scorer : scorers) {
    scorer->enqueue({0, batch.rows(), {}, outputs, batch.targets()}, counts);
  }
  stream.synchronize();
}

double seconds_of_batch(const data::DataSetInfo& info, std::int64_t batch_size,
                        std::span<InputBinding> bindings, model::Predictor& predictor,
                        const device::Stream& stream) {
  const ZeroBatch batch(info, batch_size, bindings, stream);
  const auto run = [&] {
    const Stopwatch watch;
    predictor.predict(batch.inputs());
    stream.synchronize();
    return watch.elapsed_s();
  };
  const Stopwatch all;
  // What makes a batch take longer is other work on the machine.
  double shortest = run();
  for (int i = 1; i < kTimedBatches || all.elapsed_s() < kTimedSeconds; ++i) {
    shortest = std::min(shortest, run());
  }
  return shortest;
}

}  // namespace tally::evaluate
