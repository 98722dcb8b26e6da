// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/regression_pass.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"
#include "sample_scorer.hpp"

namespace tally::tasks {
namespace {

using metrics::DenseRegressionRecord;
using MapColumn = Column<DenseRegressionRecord>;

template <class T>
void put(T value, std::span<std::byte> out) {
  values_in<T>(out)[0] = value;
}

void fill_index(const DenseRegressionRecord& row, std::span<std::byte> out) {
  put(static_cast<std::int64_t>(row.index), out);
}

void fill_loss(const DenseRegressionRecord& row, std::span<std::byte> out) {
  put(static_cast<float>(row.loss), out);
}

void fill_pixels(const DenseRegressionRecord& row, std::span<std::byte> out) {
  put(row.num_pixels, out);
}

void fill_map(const DenseRegressionRecord& row, std::span<std::byte> out) {
  std::ranges::copy(row.predictions, values_in<float>(out).begin());
}

void fill_finite(const DenseRegressionRecord& row, std::span<std::byte> out) {
  out[0] = std::byte{row.finite};
}

void fill_sums(const DenseRegressionRecord& row, std::span<std::byte> out) {
  std::copy_n(row.sums, row.num_sums, values_in<std::int64_t>(out).begin());
}

struct MapRegressionConfig {
  explicit MapRegressionConfig(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        resample_metrics(metrics.options()) {
    // The columns are added in order of their names, as Task::columns() promises.
    if (!given.save.empty()) columns.push_back({{"index", DType::i64, {}}, fill_index});
    if (is_saved(SaveColumns::labels, given)) {
      columns.push_back({{"loss", DType::f32, {}}, fill_loss});
      columns.push_back({{"pixels", DType::i64, {}}, fill_pixels});
    }
    // The height and width of this column are not known before bind_output_shapes() sees the
    // model's outputs.
    if (is_saved(SaveColumns::masks, given)) {
      columns.push_back({{"prediction", DType::f32, {}}, fill_map});
    }
    // An image is recounted from the exact sums over its pixels, which are all that it adds to a
    // State; the pixels need not be retained.
    if (!given.keep_rows) return;
    const std::int64_t num_sums = metrics::MapSums(metrics).num_sums();
    retained = {{{"finite", DType::u8, {}}, fill_finite},
                {{"sums", DType::i64, {num_sums}}, fill_sums}};
  }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;  // for counting kept rows
  std::vector<MapColumn> columns;
  std::vector<MapColumn> retained;
};

// Throws Error(usage): values of pixels are no scores of classes, so that they have no kind and no
// column of classes.
void check_map_options(const TaskOptions& options) {
  if (options.outputs != metrics::OutputKind::logits) {
    throw Error(ErrorKind::usage,
                format("a regression's outputs are values, not {}", metrics::name(options.outputs)),
                "Say --outputs logits where the model card says otherwise.");
  }
  const auto is_known = [](SaveColumns group) {
    return group == SaveColumns::labels || group == SaveColumns::masks;
  };
  if (std::ranges::all_of(options.save, is_known)) return;
  throw Error(ErrorKind::usage, "a regression of pixels saves losses, and maps",
              "Use --save labels, --save labels,masks, or --save none.");
}

// Returns height and width, of [rows, height, width] or [rows, 1, height, width]. Throws
// Error(model) for any other output.
Shape map_shape(const TensorView& values) {
  const Shape& shape = values.shape;
  if (shape.size() == 3) return {shape[1], shape[2]};
  if (shape.size() == 4 && shape[1] == 1) return {shape[2], shape[3]};
  throw Error(ErrorKind::model,
              format("the model returned {}, expected [rows, height, width] or [rows, 1, height, "
                     "width]: a value for each pixel",
                     to_string(shape)));
}

std::span<const float> values_of(const TensorView& row) {
  return {row.as<const float>(), to_size(num_elements(row.shape))};
}

class MapCounter {
 public:
  explicit MapCounter(const MapRegressionConfig& config) : image_(config.metrics) {}

  static void check(const TensorView& values, const TensorView& targets) {
    check_image_size("values", map_shape(scores_in({&values, 1})), targets);
  }

  // Values are brought to the host as they are and summed there. On a GPU each pixel would add to
  // the same exact sums, and threads would wait for one another.
  static const TensorView& reduced(const TensorView& values, const device::Stream& /*stream*/) {
    return values;
  }

  DenseRegressionRecord count(std::uint64_t index, const TensorView& values,
                              const TensorView& targets) {
    return image_.count(index, values_of(values), values_of(targets));
  }

 private:
  metrics::MapSums image_;
};

class MapRegression : public CountingTask<MapRegressionConfig> {
 public:
  explicit MapRegression(const TaskOptions& options) : CountingTask(options) {
    check_map_options(options);
  }

  void check_outputs(std::span<const TensorView> outputs) const override {
    map_shape(scores_in(outputs));
  }

  void bind_output_shapes(std::span<const TensorView> outputs) override {
    const Shape shape = map_shape(scores_in(outputs));
    // All images have one size, which the column takes from the model's outputs. Each batch is
    // checked against the labels.
    for (MapColumn& column : config_.columns) {
      if (column.spec.name == "prediction") column.spec.row_shape = shape;
    }
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<SampleScorer<MapRegressionConfig, MapCounter>>(config_, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    // The rows refer to `retained`, which outlives what is returned: Resampling promises it.
    const auto* sums = reinterpret_cast<const std::int64_t*>(retained.columns.at(1).data());
    const std::size_t each = to_size(config_.retained.at(1).spec.row_shape.at(0));
    std::vector<DenseRegressionRecord> rows;
    for (const std::byte finite : retained.columns.at(0)) {
      rows.push_back(
          metrics::retained_dense_regression_record({sums, each}, finite != std::byte{0}));
      sums += each;
    }
    return {config_.resample_metrics, rows};
  }
};

}  // namespace

std::unique_ptr<Task> make_map_regression(const TaskOptions& options) {
  return std::make_unique<MapRegression>(options);
}

}  // namespace tally::tasks
