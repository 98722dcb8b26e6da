// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"

namespace tally::tasks {
namespace {

using predictions::ColumnSpec;

// This name is taken: no output may have it.
constexpr std::string_view kIndex = "index";

struct PredictConfig {
  explicit PredictConfig(const TaskOptions& given)
      : options(given), metrics(given.metrics), resample_metrics(given.metrics) {
    if (!given.save.empty()) columns = {{std::string(kIndex), DType::i64, {}}};
    if (given.keep_rows) retained = {{"finite", DType::u8, {}}};
  }

  TaskOptions options;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;
  std::vector<ColumnSpec> outputs;  // in the order of the model; empty until they are settled
  std::vector<ColumnSpec> columns;  // these, if saved, and the index, by name
  std::vector<ColumnSpec> retained;
};

// Returns the name that the model card gives an output, or "output", "output_1", … without a card.
std::string name_of(const std::vector<std::string>& names, std::size_t output) {
  if (output < names.size()) return names[output];
  return output == 0 ? "output" : format("output_{}", output);
}

// The name of an output becomes that of an HDF5 dataset, in which "/" would make a group. Throws
// Error(model).
void check_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (name != kIndex && std::ranges::all_of(name, is_plain)) return;
  throw Error(ErrorKind::model,
              format("the model's output '{}' cannot be a column of that name, expected letters, "
                     "digits, '_' and '-', and not '{}'",
                     printable(name), kIndex),
              "Name it otherwise in its card (docs/model-card.md).");
}

// Describes the columns that these outputs fill, in their order. Throws Error(model) for a name
// that cannot be a column, or that two outputs share, and for an output without values.
std::vector<ColumnSpec> specs_of_outputs(std::span<const TensorView> outputs,
                                         const std::vector<std::string>& names) {
  std::vector<ColumnSpec> specs;
  for (const TensorView& output : outputs) {
    const std::string name = name_of(names, specs.size());
    check_name(name);
    if (std::ranges::find(specs, name, &ColumnSpec::name) != specs.end()) {
      throw Error(ErrorKind::model, format("the model has two outputs '{}'", name),
                  "Name one otherwise in its card (docs/model-card.md).");
    }
    specs.push_back({name, output.dtype, {output.shape.begin() + 1, output.shape.end()}});
    if (specs.back().row_bytes() == 0) {
      throw Error(ErrorKind::model, format("the model's output '{}' has no values: {}", name,
                                           to_string(output.shape)));
    }
  }
  return specs;
}

// A column has rows of one size, so that outputs whose shape follows the data cannot be saved.
// Throws Error(model).
void check_same(const std::vector<ColumnSpec>& found, const std::vector<ColumnSpec>& settled) {
  if (found.size() != settled.size()) {
    throw Error(ErrorKind::model, format("the model returned {} outputs, and {} before",
                                         found.size(), settled.size()));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == settled[i]) continue;
    throw Error(ErrorKind::model,
                format("the model returned '{}' as {} {} for each sample, and as {} {} before",
                       found[i].name, to_string(found[i].row_shape), name(found[i].dtype),
                       to_string(settled[i].row_shape), name(settled[i].dtype)),
                "Export a model whose outputs have one shape for all samples.");
  }
}

bool is_finite(const TensorView& output, std::int64_t row) {
  // The model room widens all floating-point outputs to float32; other types hold integers.
  if (output.dtype != DType::f32) return true;
  const std::int64_t values = num_elements(output.shape) / output.shape[0];
  const std::span row_values(output.as<const float>() + row * values, to_size(values));
  return std::ranges::all_of(row_values, [](float value) { return std::isfinite(value); });
}

class OutputScorer : public BatchScorer {
 public:
  OutputScorer(const PredictConfig& config, const device::Device& device)
      : config_(config), outputs_(device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    // The shape may depend on the values of the inputs, so that the warm-up alone does not show it.
    check_same(specs_of_outputs(batch.outputs, config_.options.output_names), config_.outputs);
    check_rows(batch);
    first_index_ = batch.first_index;
    num_samples_ = batch.num_samples;
    counts_ = &counts;
    outputs_.fetch(batch.outputs, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    rows_.clear();
    collected.not_finite.clear();
    for (std::int64_t row = 0; row < num_samples_; ++row) {
      const std::int64_t index = first_index_ + row;
      const bool finite = std::ranges::all_of(
          outputs_.views(), [row](const TensorView& output) { return is_finite(output, row); });
      if (!finite) collected.not_finite.push_back(index);
      rows_.push_back({static_cast<std::uint64_t>(index), finite});
    }
    config_.metrics.update(rows_, counts_->on_host());
    // Nothing is scored, but samples are counted: they are the evidence that each was seen once.
    record(collected.records);
    retain(collected.retained);
  }

 private:
  void record(predictions::RecordBatch& records) const {
    records.num_rows = num_samples_;
    records.columns.resize(config_.columns.size());
    for (std::size_t c = 0; c < config_.columns.size(); ++c) {
      const ColumnSpec& spec = config_.columns[c];
      auto& out = records.columns[c];
      out.resize(to_size(num_samples_ * spec.row_bytes()));
      // The index is the only column that is no output.
      const auto output = std::ranges::find(config_.outputs, spec.name, &ColumnSpec::name);
      if (output == config_.outputs.end()) {
        fill_index(out);
      } else if (!out.empty()) {
        // Outputs are contiguous, so that the rows of samples come first and padding is left out.
        std::memcpy(out.data(), outputs_.views()[to_size(output - config_.outputs.begin())].data,
                    out.size());
      }
    }
  }

  void fill_index(std::span<std::byte> out) const {
    std::ranges::transform(rows_, values_in<std::int64_t>(out).begin(),
                           [](const auto& row) { return static_cast<std::int64_t>(row.index); });
  }

  void retain(predictions::RecordBatch& retained) const {
    retained.num_rows = num_samples_;
    retained.columns.resize(config_.retained.size());
    if (retained.columns.empty()) return;
    retained.columns[0].resize(rows_.size());
    std::ranges::transform(rows_, retained.columns[0].begin(),
                           [](const auto& row) { return std::byte{row.finite}; });
  }

  const PredictConfig& config_;
  HostTensors outputs_;
  std::int64_t first_index_ = 0;
  std::int64_t num_samples_ = 0;
  metrics::DeviceAccumulator* counts_ = nullptr;
  std::vector<metrics::SampleRecord> rows_;
};

class Predict : public CountingTask<PredictConfig> {
 public:
  explicit Predict(const TaskOptions& options) : CountingTask(options) {
    if (std::ranges::all_of(options.save,
                            [](auto group) { return group == SaveColumns::labels; })) {
      return;
    }
    throw Error(ErrorKind::usage, "the task predict saves all that the model returns",
                "Use --save labels, or --save none.");
  }

  void check_outputs(std::span<const TensorView> outputs) const override {
    specs_of_outputs(outputs, config_.options.output_names);
  }

  void bind_output_shapes(std::span<const TensorView> outputs) override {
    auto found = specs_of_outputs(outputs, config_.options.output_names);
    // Every warm-up settles the outputs again, as with new weights in `tally watch`; they must stay
    // what they were.
    if (!config_.outputs.empty()) return check_same(found, config_.outputs);
    config_.outputs = std::move(found);
    if (config_.columns.empty()) return;
    config_.columns.insert(config_.columns.end(), config_.outputs.begin(), config_.outputs.end());
    std::ranges::sort(config_.columns, {}, &ColumnSpec::name);
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<OutputScorer>(config_, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    std::vector<metrics::SampleRecord> rows;
    // The index of a row can be 0: PrecomputedUpdates leaves out the evidence of indices.
    for (const std::byte finite : retained.columns.at(0))
      rows.push_back({0, finite != std::byte{0}});
    return {config_.resample_metrics, rows};
  }
};

}  // namespace

std::unique_ptr<Task> make_predict(const TaskOptions& options) {
  return std::make_unique<Predict>(options);
}

}  // namespace tally::tasks
