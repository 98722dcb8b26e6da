#include "class_pair.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::compare {
namespace {

using metrics::ClassRow;

Prediction prediction_of(const ClassRow& row) { return {row.prediction, row.confidence}; }

std::int64_t& place_of(const ClassRow& a, const ClassRow& b, Changes& changes) {
  if (a.is_right()) return changes.right_to_wrong;
  return b.is_right() ? changes.wrong_to_right : changes.wrong_to_other_wrong;
}

}  // namespace

ClassPair::ClassPair(metrics::MetricOptions options, std::vector<ClassRow> a,
                     std::vector<ClassRow> b)
    : metrics_(std::move(options)), a_(std::move(a)), b_(std::move(b)) {
  if (a_.size() != b_.size()) throw Error(ErrorKind::internal, "runs of unequal length are paired");
}

std::uint64_t ClassPair::index_of(std::int64_t sample) const { return a_[to_size(sample)].index; }

metrics::PreparedRows ClassPair::prepare(Side side, std::int64_t first, std::int64_t count) const {
  const std::span<const ClassRow> rows = side == Side::a ? a_ : b_;
  return {metrics_, rows.subspan(to_size(first), to_size(count))};
}

PairedTable ClassPair::table() const {
  PairedTable table;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    if (a_[i].ignored) continue;
    const bool in_a = a_[i].is_right();
    const bool in_b = b_[i].is_right();
    if (in_a) {
      ++(in_b ? table.both_right : table.only_a_right);
    } else {
      ++(in_b ? table.only_b_right : table.neither_right);
    }
  }
  return table;
}

Changes ClassPair::changes(std::int64_t most) const {
  Changes changes;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const ClassRow& a = a_[i];
    const ClassRow& b = b_[i];
    if (a.ignored || a.prediction == b.prediction) continue;
    ++place_of(a, b, changes);
    if (std::ssize(changes.first) >= most) continue;
    changes.first.push_back({.index = static_cast<std::int64_t>(a.index),
                             .label = a.label,
                             .a = prediction_of(a),
                             .b = prediction_of(b)});
  }
  return changes;
}

}  // namespace tally::compare
