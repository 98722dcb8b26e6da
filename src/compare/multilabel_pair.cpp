#include "multilabel_pair.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::compare {
namespace {

using metrics::LabelSample;
using metrics::MultilabelRecord;

bool is_right(const MultilabelRecord& row) { return row.right == row.scored; }

// What one run predicts at a threshold.
class Predicted {
 public:
  Predicted(const LabelSample& sample, float threshold) : sample_(sample), threshold_(threshold) {}

  bool has_label(std::int64_t i) const { return sample_.probabilities[i] > threshold_; }

  ClassPrediction as_class() const {
    const float probability = sample_.probabilities[0];
    if (!sample_.row.finite) return {-1, probability};
    return has_label(0) ? ClassPrediction{1, probability} : ClassPrediction{0, 1.0f - probability};
  }

  LabelSetPrediction as_set() const {
    LabelSetPrediction made{.labels = std::nullopt, .right = sample_.row.right};
    if (!sample_.row.finite) return made;
    made.labels.emplace();
    for (std::int64_t i = 0; i < sample_.num_labels; ++i) {
      if (sample_.targets[i] != metrics::kNotScored && has_label(i)) made.labels->push_back(i);
    }
    return made;
  }

 private:
  LabelSample sample_;
  float threshold_;
};

std::vector<std::int64_t> labels_set(const LabelSample& sample) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < sample.num_labels; ++i) {
    if (sample.targets[i] == 1) labels.push_back(i);
  }
  return labels;
}

// Samples [first, first + count).
metrics::MultilabelRecords part_of(const metrics::LabelFacts& facts, std::int64_t first,
                                   std::int64_t count) {
  const metrics::MultilabelRecords all = facts.view();
  const std::size_t labels = all.targets.size() / all.rows.size();
  const auto from = to_size(first) * labels;
  const auto num_labels = to_size(count) * labels;
  return {all.rows.subspan(to_size(first), to_size(count)),
          all.probabilities.subspan(from, num_labels), all.targets.subspan(from, num_labels)};
}

}  // namespace

MultilabelPair::MultilabelPair(metrics::MetricOptions options, metrics::LabelFacts a,
                               metrics::LabelFacts b, ordered_metrics::ScoreKeys keys)
    : metrics_(std::move(options)), a_(std::move(a)), b_(std::move(b)), keys_(keys) {
  if (a_.targets != b_.targets) {
    throw Error(ErrorKind::internal, "runs of other labels are paired");
  }
}

std::uint64_t MultilabelPair::index_of(std::int64_t sample) const {
  return a_.rows[to_size(sample)].index;
}

metrics::PrecomputedUpdates MultilabelPair::prepare(Side side, std::int64_t first,
                                                    std::int64_t count) const {
  return {metrics_, part_of(side == Side::a ? a_ : b_, first, count)};
}

std::unique_ptr<CurveMetrics> MultilabelPair::ordered(Side side) const {
  if (!metrics_.needs_order()) return nullptr;
  const metrics::MetricOptions& options = metrics_.options();
  const metrics::LabelFacts& facts = side == Side::a ? a_ : b_;
  const ordered_metrics::ScoreRows scores{
      .num_rows = size(),
      .num_classes = is_binary() ? 1 : options.num_classes,
      .first_index = facts.rows.empty() ? 0 : static_cast<std::int64_t>(facts.rows.front().index),
      .read = [&](std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<std::uint8_t> targets) {
        const auto window = part_of(facts, first, count);
        std::ranges::copy(window.probabilities, values.begin());
        std::ranges::copy(window.targets, targets.begin());
        for (const MultilabelRecord& row : window.rows) {
          const auto of_row = targets.first(window.targets.size() / window.rows.size());
          if (!row.finite) std::ranges::fill(of_row, ordered_metrics::kNotCounted);
          targets = targets.subspan(of_row.size());
        }
      }};
  return make_curve_metrics(options.names, scores, keys_,
                            {ordered_metrics::Targets::labels, options.definitions});
}

std::int64_t MultilabelPair::num_ignored() const {
  return std::ranges::count_if(a_.rows, &MultilabelRecord::is_ignored);
}

std::optional<Outcomes> MultilabelPair::outcomes() const {
  Outcomes outcomes{.metric = is_binary() ? "accuracy" : "exact_match", .table = {}};
  for (std::size_t i = 0; i < a_.rows.size(); ++i) {
    if (a_.rows[i].is_ignored()) continue;
    outcomes.table.add(is_right(a_.rows[i]), is_right(b_.rows[i]));
  }
  return outcomes;
}

bool MultilabelPair::is_changed(std::size_t sample) const {
  if (a_.rows[sample].finite != b_.rows[sample].finite) return true;
  const LabelSample a = a_.view().sample(sample);
  const LabelSample b = b_.view().sample(sample);
  const auto threshold = static_cast<float>(metrics_.options().threshold);
  for (std::int64_t i = 0; i < a.num_labels; ++i) {
    const bool differs =
        Predicted(a, threshold).has_label(i) != Predicted(b, threshold).has_label(i);
    if (differs && a.targets[i] != metrics::kNotScored) return true;
  }
  return false;
}

template <class Made, class Change>
Made MultilabelPair::list_changes(std::int64_t most, const Change& change_of) const {
  Made changes;
  for (std::size_t i = 0; i < a_.rows.size(); ++i) {
    if (a_.rows[i].is_ignored() || !is_changed(i)) continue;
    changes.counts.add(is_right(a_.rows[i]), is_right(b_.rows[i]));
    if (std::ssize(changes.first) < most) changes.first.push_back(change_of(i));
  }
  return changes;
}

Changes MultilabelPair::changes(std::int64_t most) const {
  const auto threshold = static_cast<float>(metrics_.options().threshold);
  const auto predicted = [&](const metrics::LabelFacts& facts, std::size_t i) {
    return Predicted(facts.view().sample(i), threshold);
  };
  if (is_binary()) {
    return list_changes<ClassChanges>(most, [&](std::size_t i) -> ClassChange {
      return {.index = static_cast<std::int64_t>(a_.rows[i].index),
              .label = a_.targets[i],
              .a = predicted(a_, i).as_class(),
              .b = predicted(b_, i).as_class()};
    });
  }
  return list_changes<LabelSetChanges>(most, [&](std::size_t i) -> LabelSetChange {
    return {.index = static_cast<std::int64_t>(a_.rows[i].index),
            .scored = a_.rows[i].scored,
            .labels = labels_set(a_.view().sample(i)),
            .a = predicted(a_, i).as_set(),
            .b = predicted(b_, i).as_set()};
  });
}

}  // namespace tally::compare
