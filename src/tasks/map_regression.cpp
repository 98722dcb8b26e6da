#include "map_regression.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/map_pass.hpp>

#include "host_tensors.hpp"
#include "per_sample.hpp"
#include "scoring.hpp"

namespace tally::tasks {
namespace {

// An image: its sums, and what the model said of all of its pixels.
struct ImageRow {
  metrics::MapRow sums;
  std::span<const float> predictions;
};
using ImageColumn = Column<ImageRow>;

template <class T>
void put(T value, std::span<std::byte> out) {
  values_in<T>(out)[0] = value;
}

void fill_index(const ImageRow& row, std::span<std::byte> out) {
  put(static_cast<std::int64_t>(row.sums.index), out);
}

void fill_loss(const ImageRow& row, std::span<std::byte> out) {
  put(static_cast<float>(row.sums.loss), out);
}

void fill_pixels(const ImageRow& row, std::span<std::byte> out) { put(row.sums.num_pixels, out); }

void fill_map(const ImageRow& row, std::span<std::byte> out) {
  std::ranges::copy(row.predictions, values_in<float>(out).begin());
}

void fill_finite(const ImageRow& row, std::span<std::byte> out) {
  out[0] = std::byte{row.sums.finite};
}

void fill_sums(const ImageRow& row, std::span<std::byte> out) {
  std::copy_n(row.sums.sums, row.sums.num_sums, values_in<std::int64_t>(out).begin());
}

struct Rules {
  explicit Rules(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        again(metrics.options()) {
    if (!given.save.empty()) columns.push_back({{"index", DType::i64, {}}, fill_index});
    if (is_saved(SaveColumns::labels, given)) {
      columns.push_back({{"loss", DType::f32, {}}, fill_loss});
      columns.push_back({{"pixels", DType::i64, {}}, fill_pixels});
    }
    // Its shape is settled by the model's outputs.
    if (is_saved(SaveColumns::masks, given)) {
      columns.push_back({{"prediction", DType::f32, {}}, fill_map});
    }
    if (!given.keep_rows) return;
    const std::int64_t num_sums = metrics::MapSums(metrics).num_sums();
    kept = {{{"finite", DType::u8, {}}, fill_finite},
            {{"sums", DType::i64, {num_sums}}, fill_sums}};
  }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet again;  // for counting kept rows
  std::vector<ImageColumn> columns;
  std::vector<ImageColumn> kept;
};

void check_options(const TaskOptions& options) {
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

// Height and width, of [rows, height, width] or [rows, 1, height, width].
Shape map_shape(const TensorView& values) {
  const Shape& shape = values.shape;
  if (shape.size() == 3) return {shape[1], shape[2]};
  if (shape.size() == 4 && shape[1] == 1) return {shape[2], shape[3]};
  throw Error(ErrorKind::model,
              format("the model returned {}, expected [rows, height, width] or [rows, 1, height, "
                     "width]: a value for each pixel",
                     to_string(shape)));
}

void check_size(const TensorView& values, const TensorView& targets) {
  const Shape found = map_shape(values);
  if (found[0] == targets.shape.at(1) && found[1] == targets.shape.at(2)) return;
  throw Error(ErrorKind::model,
              format("the model returned values of {} x {} pixels, /targets/label has {} x {}",
                     found[0], found[1], targets.shape[1], targets.shape[2]),
              "Export a model that returns values of the labels' size, or prepare labels of its "
              "size.");
}

std::span<const float> values_of(const TensorView& row) {
  return {row.as<const float>(), to_size(num_elements(row.shape))};
}

class MapScorer : public BatchScorer {
 public:
  MapScorer(const Rules& rules, const device::Device& device)
      : rules_(rules), values_(device), targets_(device), image_(rules.metrics) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceCounts& counts) override {
    const TensorView& values = scores_in(batch.outputs);
    const TensorView& targets = label_of(batch, rules_.options, rules_.label_position);
    check_size(values, targets);
    check_rows(batch);
    first_index_ = batch.first_index;
    num_samples_ = batch.num_samples;
    counts_ = &counts;
    values_.fetch({&values, 1}, counts.stream());
    targets_.fetch({&targets, 1}, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite.clear();
    clear(rules_.columns, collected.records);
    clear(rules_.kept, collected.kept);
    for (std::int64_t row = 0; row < num_samples_; ++row) {
      const auto predictions = values_of(row_of(values_.views()[0], row));
      const ImageRow found{image_.count(static_cast<std::uint64_t>(first_index_ + row), predictions,
                                        values_of(row_of(targets_.views()[0], row))),
                           predictions};
      rules_.metrics.update(std::span(&found.sums, 1), counts_->on_host());
      if (!found.sums.finite) collected.not_finite.push_back(first_index_ + row);
      append(found, rules_.columns, collected.records);
      append(found, rules_.kept, collected.kept);
    }
  }

 private:
  const Rules& rules_;
  HostTensors values_, targets_;
  metrics::MapSums image_;
  std::int64_t first_index_ = 0;
  std::int64_t num_samples_ = 0;
  metrics::DeviceCounts* counts_ = nullptr;
};

class MapRegression : public CountingTask<Rules> {
 public:
  explicit MapRegression(const TaskOptions& options) : CountingTask(options) {
    check_options(options);
  }

  void check_outputs(std::span<const TensorView> outputs) const override {
    map_shape(scores_in(outputs));
  }

  void settle(std::span<const TensorView> outputs) override {
    const Shape shape = map_shape(scores_in(outputs));
    for (ImageColumn& column : rules_.columns) {
      if (column.spec.name == "prediction") column.spec.row_shape = shape;
    }
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<MapScorer>(rules_, device);
  }

  metrics::PreparedRows prepare_again(const predictions::RecordBatch& kept) const override {
    const auto* sums = reinterpret_cast<const std::int64_t*>(kept.columns.at(1).data());
    const std::size_t each = to_size(rules_.kept.at(1).spec.row_shape.at(0));
    std::vector<metrics::MapRow> rows;
    for (const std::byte finite : kept.columns.at(0)) {
      rows.push_back(metrics::kept_map_row({sums, each}, finite != std::byte{0}));
      sums += each;
    }
    return {rules_.again, rows};
  }
};

}  // namespace

std::unique_ptr<Task> make_map_regression(const TaskOptions& options) {
  return std::make_unique<MapRegression>(options);
}

}  // namespace tally::tasks
