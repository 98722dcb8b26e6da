#include "multiclass_pair.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::compare {
namespace {

using metrics::MulticlassRecord;

ClassPrediction prediction_of(const MulticlassRecord& row) {
  return {row.prediction, row.confidence};
}

// [rows, classes]
void fill_targets(std::span<const MulticlassRecord> rows, std::span<std::uint8_t> targets) {
  const std::size_t classes = targets.size() / rows.size();
  for (const MulticlassRecord& row : rows) {
    const auto of_row = targets.first(classes);
    const bool counts = !row.ignored && row.finite;
    std::ranges::fill(of_row, counts ? ordered_metrics::kNegative : ordered_metrics::kNotCounted);
    if (counts) of_row[to_size(row.label)] = ordered_metrics::kPositive;
    targets = targets.subspan(classes);
  }
}

}  // namespace

MulticlassPair::MulticlassPair(metrics::MetricOptions options, std::vector<MulticlassRecord> a,
                               std::vector<MulticlassRecord> b, ClassScores scores)
    : metrics_(std::move(options)), a_(std::move(a)), b_(std::move(b)), scores_(std::move(scores)) {
  if (a_.size() != b_.size()) throw Error(ErrorKind::internal, "runs of unequal length are paired");
}

std::uint64_t MulticlassPair::index_of(std::int64_t sample) const {
  return a_[to_size(sample)].index;
}

metrics::PrecomputedUpdates MulticlassPair::prepare(Side side, std::int64_t first,
                                                    std::int64_t count) const {
  const std::span<const MulticlassRecord> rows = side == Side::a ? a_ : b_;
  return {metrics_, rows.subspan(to_size(first), to_size(count))};
}

std::unique_ptr<CurveMetrics> MulticlassPair::ordered(Side side) const {
  if (!metrics_.needs_order()) return nullptr;
  const metrics::MetricOptions& options = metrics_.options();
  const auto& rows = side == Side::a ? a_ : b_;
  const auto& read = side == Side::a ? scores_.a : scores_.b;
  const ordered_metrics::ScoreRows scores{
      .num_rows = size(),
      .num_classes = options.num_classes,
      .first_index = rows.empty() ? 0 : static_cast<std::int64_t>(rows.front().index),
      .read = [&](std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<std::uint8_t> targets) {
        read(first, count, values);
        fill_targets(std::span(rows).subspan(to_size(first), to_size(count)), targets);
      }};
  return make_curve_metrics(options.names, scores, scores_.keys,
                            {ordered_metrics::Targets::multiclass, options.definitions});
}

std::int64_t MulticlassPair::num_ignored() const {
  return std::ranges::count(a_, true, &MulticlassRecord::ignored);
}

std::optional<Outcomes> MulticlassPair::outcomes() const {
  Outcomes outcomes{.metric = "accuracy", .table = {}};
  for (std::size_t i = 0; i < a_.size(); ++i) {
    if (!a_[i].ignored) outcomes.table.add(a_[i].is_right(), b_[i].is_right());
  }
  return outcomes;
}

Changes MulticlassPair::changes(std::int64_t most) const {
  ClassChanges changes;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const MulticlassRecord& a = a_[i];
    const MulticlassRecord& b = b_[i];
    if (a.ignored || a.prediction == b.prediction) continue;
    changes.counts.add(a.is_right(), b.is_right());
    if (std::ssize(changes.first) >= most) continue;
    changes.first.push_back({.index = static_cast<std::int64_t>(a.index),
                             .label = a.label,
                             .a = prediction_of(a),
                             .b = prediction_of(b)});
  }
  return changes;
}

}  // namespace tally::compare
