// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>

namespace tally::evaluate {
namespace {

using ::testing::ElementsAre;

data::ColumnInfo column_of(const std::string& name, DType dtype, Shape row_shape) {
  data::ColumnInfo column;
  column.path = column.name = name;
  column.dtype = dtype;
  column.row_shape = std::move(row_shape);
  return column;
}

data::DataSetInfo small_set() {
  data::DataSetInfo info;
  info.num_samples = 10;
  info.num_classes = 7;
  info.columns.inputs = {column_of("x", DType::f32, {5})};
  info.columns.targets = {column_of("label", DType::i64, {})};
  return info;
}

// Scores of zeros, from as few samples as it may take.
class Rehearsing : public model::Predictor {
 public:
  explicit Rehearsing(bool takes_few) : takes_few_(takes_few) {}
  model::Outputs warm_up(std::span<const TensorView> inputs) override { return scores_of(inputs); }
  std::optional<model::Outputs> warm_up_small(std::span<const TensorView> inputs,
                                              std::int64_t batch_size) override {
    told_batch_size = batch_size;
    if (!takes_few_) return std::nullopt;
    return scores_of(inputs);
  }

  model::Outputs predict(std::span<const TensorView> inputs) override { return scores_of(inputs); }

  const std::optional<model::ModelCard>& card() const override { return card_; }

  std::int64_t told_batch_size = 0;
  std::vector<std::int64_t> rows;  // of each call

 private:
  model::Outputs scores_of(std::span<const TensorView> inputs) {
    rows.push_back(inputs.front().shape.front());
    scores_.assign(checked_cast<std::size_t>(rows.back() * 7), 0.0F);
    return {contiguous_view(scores_.data(), DType::f32, {rows.back(), 7})};
  }

  const std::optional<model::ModelCard> card_;
  bool takes_few_;
  std::vector<float> scores_;
};

std::vector<std::int64_t> rows_of_warm_up(bool takes_few, std::int64_t batch_size) {
  const auto info = small_set();
  tasks::TaskOptions options;
  options.metrics = {.num_classes = info.num_classes};
  const auto task = tasks::make_task(options);
  Rehearsing predictor(takes_few);
  auto made = map_inputs(info, predictor, batch_size, device::Device{});
  warm_up(info, batch_size, made.bindings, predictor, *task, device::Stream(device::Device{}));
  EXPECT_EQ(predictor.told_batch_size, batch_size > 3 ? batch_size : 0);
  return predictor.rows;
}

TEST(WarmUp, TakesAFewSamplesWhereTheyDo) {
  EXPECT_THAT(rows_of_warm_up(true, 64), ElementsAre(3));
  EXPECT_THAT(rows_of_warm_up(false, 64), ElementsAre(64));
  EXPECT_THAT(rows_of_warm_up(true, 3), ElementsAre(3));
  EXPECT_THAT(rows_of_warm_up(true, 1), ElementsAre(1));
}

TEST(SecondsOfBatch, AreThoseOfSeveralWholeBatches) {
  Rehearsing predictor(true);
  auto made = map_inputs(small_set(), predictor, 64, device::Device{});
  EXPECT_GE(
      seconds_of_batch(small_set(), 64, made.bindings, predictor, device::Stream(device::Device{})),
      0);
  EXPECT_GE(predictor.rows.size(), 3U);
  EXPECT_THAT(predictor.rows, testing::Each(64));
}

}  // namespace
}  // namespace tally::evaluate
