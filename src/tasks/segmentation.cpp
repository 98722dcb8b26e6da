#include "segmentation.hpp"

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/mask_pass.hpp>

#include "host_tensors.hpp"
#include "per_sample.hpp"
#include "scoring.hpp"

namespace tally::tasks {
namespace {

using metrics::MaskRow;

std::int64_t sum_of(const std::int64_t* counts, std::int64_t num_classes) {
  return std::accumulate(counts, counts + num_classes, std::int64_t{0});
}

void fill_index(const MaskRow& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = static_cast<std::int64_t>(row.index);
}

void fill_pixels(const MaskRow& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = sum_of(row.support, row.num_classes);
}

void fill_correct(const MaskRow& row, std::span<std::byte> out) {
  values_in<std::int64_t>(out)[0] = sum_of(row.correct, row.num_classes);
}

// As uint8 no prediction, -1, is 255.
void fill_mask(const MaskRow& row, std::span<std::byte> out) {
  if (std::ssize(out) == row.num_pixels) {
    std::transform(row.predictions, row.predictions + row.num_pixels, out.begin(),
                   [](std::int32_t prediction) { return static_cast<std::byte>(prediction); });
  } else {
    std::copy_n(row.predictions, row.num_pixels, values_in<std::int32_t>(out).begin());
  }
}

void fill_counts(const MaskRow& row, std::span<std::byte> out) {
  // What is kept lies behind `support`: see metrics::MaskCounts::kept().
  std::copy_n(row.support, 3 * row.num_classes, values_in<std::int64_t>(out).begin());
}

void fill_finite(const MaskRow& row, std::span<std::byte> out) { out[0] = std::byte{row.finite}; }

using MaskColumn = Column<MaskRow>;

struct Rules {
  explicit Rules(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        again(without_matrix(metrics.options())) {
    const bool saves_masks = is_saved(SaveColumns::masks, given);
    if (!given.save.empty()) columns.push_back({{"index", DType::i64, {}}, fill_index});
    if (is_saved(SaveColumns::labels, given)) {
      columns.insert(columns.begin(), {{"correct", DType::i64, {}}, fill_correct});
      columns.push_back({{"pixels", DType::i64, {}}, fill_pixels});
    }
    // Its shape is settled by the model's outputs.
    if (saves_masks) columns.push_back({{"prediction", mask_type(), {}}, fill_mask});
    if (!given.keep_rows) return;
    kept = {{{"counts", DType::i64, {3, num_classes()}}, fill_counts},
            {{"finite", DType::u8, {}}, fill_finite}};
  }

  std::int64_t num_classes() const { return options.metrics.num_classes; }
  DType mask_type() const { return num_classes() <= 255 ? DType::u8 : DType::i32; }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet again;  // for counting kept rows
  std::vector<MaskColumn> columns;
  std::vector<MaskColumn> kept;
};

void check_scores(const TensorView& scores, std::int64_t num_classes) {
  if (scores.shape.size() == 4 && scores.shape[1] == num_classes) return;
  throw Error(ErrorKind::model,
              format("the model returned {}, expected [rows, {}, height, width]: a score for each "
                     "class of each pixel",
                     to_string(scores.shape), num_classes));
}

void check_size(const TensorView& scores, const TensorView& labels) {
  if (scores.shape[2] == labels.shape.at(1) && scores.shape[3] == labels.shape.at(2)) return;
  throw Error(ErrorKind::model,
              format("the model returned scores of {} x {} pixels, /targets/label has {} x {}",
                     scores.shape[2], scores.shape[3], labels.shape[1], labels.shape[2]),
              "Export a model that returns scores of the labels' size, or prepare labels of its "
              "size.");
}

class MaskScorer : public BatchScorer {
 public:
  MaskScorer(const Rules& rules, const device::Device& device)
      : rules_(rules), scores_(device), labels_(device), image_(rules.num_classes()) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceCounts& counts) override {
    const TensorView& scores = scores_in(batch.outputs);
    const TensorView& labels = label_of(batch, rules_.options, rules_.label_position);
    check_scores(scores, rules_.num_classes());
    check_size(scores, labels);
    check_rows(batch);
    first_index_ = batch.first_index;
    num_samples_ = batch.num_samples;
    counts_ = &counts;
    scores_.fetch({&scores, 1}, counts.stream());
    labels_.fetch({&labels, 1}, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite.clear();
    clear(rules_.columns, collected.records);
    clear(rules_.kept, collected.kept);
    for (std::int64_t row = 0; row < num_samples_; ++row) {
      const TensorView scores = row_of(scores_.views()[0], row);
      const MaskRow found =
          image_.count(static_cast<std::uint64_t>(first_index_ + row),
                       {scores.as<const float>(), to_size(num_elements(scores.shape))},
                       row_of(labels_.views()[0], row), rules_.options.metrics.ignore_index);
      rules_.metrics.update(std::span(&found, 1), counts_->on_host());
      if (!found.finite) collected.not_finite.push_back(first_index_ + row);
      append(found, rules_.columns, collected.records);
      append(found, rules_.kept, collected.kept);
    }
  }

 private:
  const Rules& rules_;
  HostTensors scores_, labels_;
  metrics::MaskCounts image_;
  std::int64_t first_index_ = 0;
  std::int64_t num_samples_ = 0;
  metrics::DeviceCounts* counts_ = nullptr;
};

class Segmentation : public CountingTask<Rules> {
 public:
  explicit Segmentation(const TaskOptions& options) : CountingTask(options) {
    const auto is_known = [](SaveColumns group) {
      return group == SaveColumns::labels || group == SaveColumns::masks;
    };
    if (std::ranges::all_of(options.save, is_known)) return;
    throw Error(ErrorKind::usage, "the task segmentation saves counts of pixels, and masks",
                "Use --save labels, --save labels,masks, or --save none.");
  }

  void check_outputs(std::span<const TensorView> outputs) const override {
    check_scores(scores_in(outputs), rules_.num_classes());
  }

  void settle(std::span<const TensorView> outputs) override {
    check_outputs(outputs);
    const auto mask = std::ranges::find(rules_.columns, "prediction",
                                        [](const MaskColumn& column) { return column.spec.name; });
    if (mask == rules_.columns.end()) return;
    mask->spec.row_shape = {outputs[0].shape[2], outputs[0].shape[3]};
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<MaskScorer>(rules_, device);
  }

  metrics::PreparedRows prepare_again(const predictions::RecordBatch& kept) const override {
    const auto* counts = reinterpret_cast<const std::int64_t*>(kept.columns.at(0).data());
    const std::size_t each = to_size(3 * rules_.num_classes());
    std::vector<MaskRow> rows;
    for (const std::byte finite : kept.columns.at(1)) {
      rows.push_back(
          metrics::kept_mask_row({counts, each}, rules_.num_classes(), finite != std::byte{0}));
      counts += each;
    }
    return {rules_.again, rows};
  }
};

}  // namespace

std::unique_ptr<Task> make_segmentation(const TaskOptions& options) {
  return std::make_unique<Segmentation>(options);
}

}  // namespace tally::tasks
