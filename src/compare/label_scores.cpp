#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/row_facts.hpp>

#include "label_run.hpp"

namespace tally::compare {
namespace {

using metrics::LabelFacts;
using metrics::LabelRow;
using metrics::OutputKind;

constexpr std::int64_t kWindowBytes = std::int64_t{8} << 20;
// Of a probability that was made of a rounded difference of two scores.
constexpr float kRounding = 1e-6f;

struct ScoreColumn {
  std::string name;
  OutputKind kind;
};

// The best there is, or what every file with scores has or can be brought to.
ScoreColumn score_column(const LabelRun& labels, LossFrom loss) {
  const bool wants_best = loss == LossFrom::scores || !labels.has_probabilities;
  if (labels.has_logits && wants_best) return {"logits", labels.settings.outputs};
  return {labels.probability_column(), OutputKind::probabilities};
}

// A class of two with a score of -Inf has no chance: the difference is infinite, and is finite for
// all that. Read again it is the one whose loss is that of an impossible class.
void bound_log_odds(std::span<const LabelRow> rows, std::span<float> scores) {
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
  void take_row(std::size_t i, const LabelRow& found, LabelRow& row) const {
    if (found.finite != row.finite) {
      labels_.run.refuse(column_, i, found.finite ? "finite scores" : "NaN or Inf",
                         row.finite ? "finite scores, for there is a prediction"
                                    : "NaN or Inf, for nothing is predicted");
    }
    const LabelRow saved = row;
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
      labels_.run.refuse(
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
  const hdf5::Dataset scores = labels.run.rows(column.name, column.name, labels.row_shape);
  const std::int64_t window = std::max<std::int64_t>(1, kWindowBytes / scores.info().row_bytes());
  std::vector<float> values;
  LabelFacts found;
  for (std::int64_t first = 0; first < labels.run.num_samples(); first += window) {
    const std::int64_t count = std::min(window, labels.run.num_samples() - first);
    const Shape shape{count, labels.num_labels};
    values.resize(to_size(num_elements(shape)));
    scores.read_rows(first, count, std::as_writable_bytes(std::span(values)));
    if (labels.is_binary) {
      bound_log_odds(std::span(facts.rows).subspan(to_size(first), to_size(count)), values);
    }
    std::uint8_t* const targets = facts.targets.data() + first * labels.num_labels;
    metrics::examine_labels(contiguous_view(values.data(), DType::f32, shape),
                            contiguous_view(targets, DType::u8, shape), first, count, rules, found);
    if (found.wrong_kind_row) {
      labels.run.refuse(column.name, to_size(first + *found.wrong_kind_row), "values out of range",
                        metrics::name(rules.kind));
    }
    if (must_round) {
      values = found.probabilities;
      metrics::examine_labels(contiguous_view(values.data(), DType::f32, shape),
                              contiguous_view(targets, DType::u8, shape), first, count, rounded,
                              found);
    }
    taker.take(to_size(first), found, facts);
  }
}

}  // namespace tally::compare
