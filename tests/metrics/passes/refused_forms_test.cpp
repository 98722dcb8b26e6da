// SPDX-License-Identifier: Apache-2.0
// Tensors of other forms than a pass reads are refused, each for one reason.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include <tally/device/stream.hpp>
#include <tally/metrics/multiclass_pass.hpp>
#include <tally/metrics/regression_pass.hpp>
#include <tally/metrics/token_pass.hpp>

#include "expect_error.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kRows = 2;
constexpr std::int64_t kColumns = 3;

using Pass = std::function<void(const TensorView& scores, const TensorView& targets)>;
using Views = std::pair<TensorView, TensorView>;

std::vector<std::int64_t>& memory() {  // as large as any of the views, all 0
  static std::vector<std::int64_t> zeros(64);
  return zeros;
}

TensorView view(DType dtype, Shape shape) {
  return contiguous_view(memory().data(), dtype, std::move(shape));
}

TensorView with_last_stride(TensorView tensor, std::int64_t stride) {
  tensor.strides.back() = stride;
  return tensor;
}

TensorView on_gpu(TensorView tensor) {
  tensor.device = DeviceKind::cuda;
  return tensor;
}

void expect_each_refused(const Pass& pass, const std::vector<Views>& others) {
  for (std::size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    expect_error(ErrorKind::internal, {"was given"},
                 [&] { pass(others[i].first, others[i].second); });
  }
}

void enqueue_classes(std::int64_t num_rows, std::int64_t max_rows, const TensorView& scores,
                     const TensorView& labels) {
  const MetricSet metrics({.task = "multiclass", .num_classes = kColumns});
  exact::State state(metrics.layout());
  const device::Stream stream{device::Device{}};
  DeviceAccumulator counts(state, stream);
  BatchStatistics stats(max_rows, device::Device{});
  const MulticlassPass pass(metrics, OutputKind::logits, device::Device{});
  pass.enqueue(0, num_rows, scores, labels, counts, stats);
}

TEST(RefusedForms, OfScoresOfClasses) {
  const TensorView scores = view(DType::f32, {kRows, kColumns});
  const TensorView labels = view(DType::i64, {kRows});
  enqueue_classes(kRows, kRows, scores, labels);
  enqueue_classes(kRows - 1, kRows, scores, labels);
  const Pass pass = [](const TensorView& given, const TensorView& to) {
    enqueue_classes(kRows, kRows, given, to);
  };
  expect_each_refused(pass, {{view(DType::f64, {kRows, kColumns}), labels},
                             {view(DType::f32, {kRows, kColumns, 1}), labels},
                             {view(DType::f32, {kRows - 1, kColumns}), labels},
                             {view(DType::f32, {kRows, 0}), labels},
                             {with_last_stride(scores, 2), labels},
                             {on_gpu(scores), labels},
                             {scores, view(DType::i32, {kRows})},
                             {scores, view(DType::i64, {kRows, 1})},
                             {scores, view(DType::i64, {kRows - 1})},
                             {scores, on_gpu(labels)}});
  expect_error(ErrorKind::internal, {"at most 1 rows"},
               [&] { enqueue_classes(kRows, kRows - 1, scores, labels); });
}

void enqueue_values(std::int64_t max_rows, std::int64_t batch_outputs,
                    const TensorView& predictions, const TensorView& targets) {
  const MetricSet metrics({.task = "regression", .num_classes = kColumns});
  exact::State state(metrics.layout());
  const device::Stream stream{device::Device{}};
  DeviceAccumulator counts(state, stream);
  RegressionBatch batch(max_rows, batch_outputs, device::Device{});
  RegressionPass(metrics).enqueue(0, kRows, predictions, targets, counts, batch);
}

TEST(RefusedForms, OfPredictedValues) {
  const TensorView good = view(DType::f32, {kRows, kColumns});
  enqueue_values(kRows, kColumns, good, good);
  const std::vector<TensorView> others{view(DType::f64, {kRows, kColumns}),
                                       view(DType::f32, {kRows}),
                                       view(DType::f32, {kRows, kColumns, 1}),
                                       view(DType::f32, {kRows - 1, kColumns}),
                                       view(DType::f32, {kRows, kColumns - 1}),
                                       view(DType::f32, {kRows, kColumns + 1}),
                                       with_last_stride(good, 2),
                                       on_gpu(good)};
  std::vector<Views> pairs;
  for (const TensorView& other : others) {
    pairs.emplace_back(other, good);
    pairs.emplace_back(good, other);
  }
  expect_each_refused(
      [](const TensorView& predictions, const TensorView& targets) {
        enqueue_values(kRows, kColumns, predictions, targets);
      },
      pairs);
  expect_error(ErrorKind::internal, {"do not fit a batch of 1 rows of 3"},
               [&] { enqueue_values(kRows - 1, kColumns, good, good); });
  expect_error(ErrorKind::internal, {"do not fit a batch of 2 rows of 4"},
               [&] { enqueue_values(kRows, kColumns + 1, good, good); });
}

TEST(RefusedForms, OfScoresOfTokens) {
  const Shape places{kRows, kColumns};
  const TensorView scores = view(DType::f32, {kRows, kColumns, 4});
  const TensorView labels = view(DType::i64, places);
  const Pass pass = [](const TensorView& given, const TensorView& to) {
    TokenStatistics stats;
    ThreadTeam alone(1);
    compute_token_statistics(given, to, kRows, {}, alone, stats);
  };
  pass(scores, labels);
  pass(view(DType::bf16, scores.shape), view(DType::i32, places));
  expect_each_refused(pass, {{view(DType::f64, scores.shape), labels},
                             {view(DType::f32, {kRows, kColumns}), labels},
                             {view(DType::f32, {kRows - 1, kColumns, 4}), labels},
                             {view(DType::f32, {kRows, kColumns, 0}), labels},
                             {with_last_stride(scores, 2), labels},
                             {on_gpu(scores), labels},
                             {scores, view(DType::u8, places)},
                             {scores, view(DType::i64, {kRows})},
                             {scores, view(DType::i64, {kRows - 1, kColumns})},
                             {scores, view(DType::i64, {kRows, kColumns + 1})},
                             {scores, with_last_stride(labels, 2)},
                             {scores, on_gpu(labels)}});
}

}  // namespace
}  // namespace tally::metrics
