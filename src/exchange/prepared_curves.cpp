#include <tally/exchange/prepared_curves.hpp>

#include <tally/base/error.hpp>

#include "curve_slots.hpp"
#include "placed_rows.hpp"

namespace tally::exchange {

struct PreparedCurves::Body {
  Body(const ScoreRows& rows, ScoreKeys keys)
      : num_rows(to_size(rows.num_rows)), slots(slots_of(rows, keys)), placed(rows, keys, slots) {}

  std::size_t num_rows;
  CurveSlots slots;
  PlacedRows placed;
};

PreparedCurves::PreparedCurves(const ScoreRows& rows, ScoreKeys keys)
    : body_(std::make_unique<Body>(rows, keys)) {}
PreparedCurves::~PreparedCurves() = default;
PreparedCurves::PreparedCurves(PreparedCurves&&) noexcept = default;

void PreparedCurves::count(metrics::RowWeights weights, std::vector<CurveCounts>& curves) const {
  const std::vector<std::uint8_t> once(weights.empty() ? body_->num_rows : 0, 1);
  if (weights.empty()) weights = once;
  if (weights.size() != body_->num_rows) {
    throw Error(ErrorKind::internal, "curves need one weight a row");
  }
  std::vector<std::int64_t> counts(to_size(body_->slots.num_slots()));
  body_->placed.count(weights, counts);
  body_->slots.fill(counts, curves);
}

}  // namespace tally::exchange
