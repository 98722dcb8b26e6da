#include "coverage.hpp"

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr int kPieceBits = CoverageCounters::kPieceBits;
constexpr std::int64_t kNumPieces = CoverageCounters::kNumPieces;

// Modulo 2^64.
std::uint64_t join_pieces(std::span<const std::int64_t> counters) {
  std::uint64_t sum = 0;
  for (std::size_t i = counters.size(); i-- > 0;) {
    sum = (sum << kPieceBits) + static_cast<std::uint64_t>(counters[i]);
  }
  return sum;
}

class Coverage : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    count_ = layout.add_counters("coverage.count", 1);
    ignored_ = layout.add_counters("coverage.ignored", 1);
    index_mix_ = layout.add_counters("coverage.index_mix", kNumPieces);
    index_sum_ = layout.add_counters("coverage.index_sum", kNumPieces);
    not_finite_ = layout.add_counters("coverage.not_finite", 1);
    tied_ = layout.add_counters("coverage.tied", 1);
    without_scores_ = layout.add_counters("coverage.without_scores", 1);
    counters.coverage = {count_.offset,         ignored_.offset,    index_mix_.offset,
                         index_sum_.offset,     not_finite_.offset, tied_.offset,
                         without_scores_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.count = state.of(count_)[0];
    results.index_sum = join_pieces(state.of(index_sum_));
    results.index_mix = join_pieces(state.of(index_mix_));
    results.ignored = state.of(ignored_)[0];
    results.scored = results.count - results.ignored;
    results.tied = state.of(tied_)[0];
    results.not_finite = state.of(not_finite_)[0];
    results.without_scores = state.of(without_scores_)[0];
  }

 private:
  exact::StateSpan count_, ignored_, index_mix_, index_sum_, not_finite_, tied_, without_scores_;
};

}  // namespace

FamilyEntry coverage_family() {
  return {.metrics = {},
          .kept = Kept::always,
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<Coverage>();
          }};
}

}  // namespace tally::metrics
