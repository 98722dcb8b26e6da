#include "coverage.hpp"

#include <array>

#include <tally/base/sample_mix.hpp>

namespace tally::metrics {
namespace {

// A 64-bit sum is kept as the sums of its addends' four 16-bit pieces: plain counters, which 2^47
// samples cannot overflow and which need no carries to be equal bits for any split.
constexpr int kPieceBits = 16;
constexpr std::int64_t kNumPieces = 64 / kPieceBits;

void add_pieces(std::array<std::int64_t, kNumPieces>& pieces, std::uint64_t value) {
  for (std::int64_t& piece : pieces) {
    piece += static_cast<std::int64_t>(value & 0xffff);
    value >>= kPieceBits;
  }
}

void flush(const std::array<std::int64_t, kNumPieces>& pieces, std::span<std::int64_t> counters) {
  for (std::size_t i = 0; i < pieces.size(); ++i) counters[i] += pieces[i];
}

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
  void declare(exact::StateLayout& layout) override {
    count_ = layout.add_counters("coverage.count", 1);
    ignored_ = layout.add_counters("coverage.ignored", 1);
    index_mix_ = layout.add_counters("coverage.index_mix", kNumPieces);
    index_sum_ = layout.add_counters("coverage.index_sum", kNumPieces);
    tied_ = layout.add_counters("coverage.tied", 1);
  }

  void update(const Rows& rows, exact::State& state) const override {
    std::array<std::int64_t, kNumPieces> sum{};
    std::array<std::int64_t, kNumPieces> mix{};
    std::int64_t ignored = 0;
    std::int64_t tied = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t index = static_cast<std::uint64_t>(rows.first_index) + i;
      add_pieces(sum, index);
      add_pieces(mix, sample_mix(index));
      ignored += rows.scored(i) ? 0 : 1;
      tied += rows.facts.label_tied[i];
    }
    flush(sum, state.of(index_sum_));
    flush(mix, state.of(index_mix_));
    state.of(count_)[0] += static_cast<std::int64_t>(rows.size());
    state.of(ignored_)[0] += ignored;
    state.of(tied_)[0] += tied;
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.count = state.of(count_)[0];
    results.index_sum = join_pieces(state.of(index_sum_));
    results.index_mix = join_pieces(state.of(index_mix_));
    results.ignored = state.of(ignored_)[0];
    results.scored = results.count - results.ignored;
    results.tied = state.of(tied_)[0];
  }

 private:
  exact::StateSpan count_, ignored_, index_mix_, index_sum_, tied_;
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
