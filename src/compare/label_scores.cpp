#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/row_statistics.hpp>

#include "label_run.hpp"

namespace tally::compare {
namespace {

using metrics::LabelFacts;
using metrics::MultilabelRecord;
using metrics::OutputKind;

// Of a probability that was made of a rounded difference of two scores.
constexpr float kRounding = 1e-6f;

// The best there is, or what every file with scores has or can be brought to.
ScoreColumn score_column(const LabelRun& labels, LossFrom loss) {
  const bool wants_best = loss == LossFrom::scores || !labels.has_probabilities;
  if (labels.has_logits && wants_best) return {"logits", labels.settings.outputs};
  return {labels.probability_column(), OutputKind::probabilities};
}

// A class of two with a score of -Inf has no chance: the difference is infinite, and is finite for
// all that. Read again it is the one whose loss is that of an impossible class.
void bound_log_odds(std::span<const MultilabelRecord> rows, std::span<float> scores) {
  constexpr auto kCertain = static_cast<float>(metrics::kZeroProbabilityLoss);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].finite && std::isinf(scores[i])) scores[i] = std::copysign(kCertain, scores[i]);
  }
}

// What the scores say of a window, on its way into the facts of all samples.
class Taker {
 public:
  Taker(const LabelRun& labels, std::string column, LossFrom loss)
      : labels_(labels), column_(std::move(column)), loss_(loss) {}

  void take(std::size_t first, const LabelFacts& found, LabelFacts& facts) const {
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      take_row(first + i, found.rows[i], facts.rows[first + i]);
    }
    const auto count = to_size(labels_.num_labels);
    for (std::size_t i = 0; i < found.probabilities.size(); ++i) {
      take_probability(first + i / count, found.probabilities[i],
                       facts.probabilities[first * count + i]);
    }
  }

 private:
  void take_row(std::size_t i, const MultilabelRecord& found, MultilabelRecord& row) const {
    if (found.finite != row.finite) {
      labels_.run.throw_dataset_error(column_, i, found.finite ? "finite scores" : "NaN or Inf",
                                      row.finite ? "finite scores, for there is a prediction"
                                                 : "NaN or Inf, for nothing is predicted");
    }
    const MultilabelRecord saved = row;
    row = found;
    row.index = saved.index;  // the scores do not know it
    if (loss_ == LossFrom::column) row.loss = saved.loss;
  }

  // A saved probability is the one that was predicted by; another replaces its stand-in.
  void take_probability(std::size_t i, float found, float& probability) const {
    if (std::isnan(found)) return;
    const bool fits = labels_.has_probabilities ? std::abs(probability - found) <= kRounding
                                                : (found > labels_.threshold) == (probability > 0);
    if (!fits) {
      labels_.run.throw_dataset_error(
          column_, i, format("a score of probability {}", found),
          labels_.has_probabilities ? format("that of {}", probability) : "that of the prediction");
    }
    if (!labels_.has_probabilities) probability = found;
  }

  const LabelRun& labels_;
  std::string column_;
  LossFrom loss_;
};

}  // namespace

void add_scores(const LabelRun& labels, const metrics::MetricOptions& options, LossFrom loss,
                LabelFacts& facts) {
  const ScoreColumn column = score_column(labels, loss);
  metrics::LabelRules rules = metrics::label_rules(options, column.kind);
  rules.has_ignore_index = true;  // targets are as facts have them
  rules.ignore_index = metrics::kNotScored;
  metrics::LabelRules rounded = rules;
  rounded.kind = OutputKind::probabilities;
  const bool must_round = loss == LossFrom::column && column.kind != OutputKind::probabilities;
  const Taker taker(labels, column.name, loss);
  LabelFacts found;
  const auto take_window = [&](std::int64_t first, std::int64_t count, std::span<float> values) {
    const Shape shape{count, labels.num_labels};
    const TensorView scores = contiguous_view(values.data(), DType::f32, shape);
    const TensorView targets =
        contiguous_view(facts.targets.data() + first * labels.num_labels, DType::u8, shape);
    if (labels.is_binary) {
      bound_log_odds(std::span(facts.rows).subspan(to_size(first), to_size(count)), values);
    }
    metrics::examine_labels(scores, targets, first, count, rules, found);
    if (found.wrong_kind_row) {
      labels.run.throw_dataset_error(column.name, to_size(first + *found.wrong_kind_row),
                                     "values out of range", metrics::name(rules.kind));
    }
    if (must_round) {
      std::ranges::copy(found.probabilities, values.begin());
      metrics::examine_labels(scores, targets, first, count, rounded, found);
    }
    taker.take(to_size(first), found, facts);
  };
  labels.run.for_each_window(column.name, labels.row_shape, take_window);
}

}  // namespace tally::compare
