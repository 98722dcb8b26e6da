// SPDX-License-Identifier: Apache-2.0
#include "families/sample_accounting.hpp"

#include <tally/base/task_traits.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

constexpr int kPieceBits = AccountingCounters::kPieceBits;
constexpr std::int64_t kNumPieces = AccountingCounters::kNumPieces;

// Makes one number of the sums of its pieces, modulo 2^64. Such a sum may exceed 16 bits and then
// carries into the next piece.
std::uint64_t join_pieces(std::span<const std::int64_t> counters) {
  std::uint64_t sum = 0;
  for (std::size_t i = counters.size(); i-- > 0;) {
    sum = (sum << kPieceBits) + static_cast<std::uint64_t>(counters[i]);
  }
  return sum;
}

// Holds the spans of one set of counters, under names of their own: a task may count units and the
// samples that they are made of.
struct CoverageSpans {
  exact::StateSpan count, ignored, index_mix, index_sum, not_finite;
  std::optional<exact::StateSpan> tied;  // none where there are no scores
  exact::StateSpan without_scores;

  CoverageSpans(exact::StateLayout& layout, const std::string& name, bool has_scores = true)
      : count(layout.add_counters(name + ".count", 1)),
        ignored(layout.add_counters(name + ".ignored", 1)),
        index_mix(layout.add_counters(name + ".index_mix", kNumPieces)),
        index_sum(layout.add_counters(name + ".index_sum", kNumPieces)),
        not_finite(layout.add_counters(name + ".not_finite", 1)),
        tied(has_scores ? std::optional(layout.add_counters(name + ".tied", 1)) : std::nullopt),
        without_scores(layout.add_counters(name + ".without_scores", 1)) {}

  AccountingCounters counters() const {
    return {.count = count.offset,
            .ignored = ignored.offset,
            .index_mix = index_mix.offset,
            .index_sum = index_sum.offset,
            .not_finite = not_finite.offset,
            .tied = tied ? tied->offset : kNotKept,
            .without_scores = without_scores.offset};
  }

  IndexEvidence seen(const exact::State& state) const {
    return {state.of(count)[0], join_pieces(state.of(index_sum)), join_pieces(state.of(index_mix))};
  }
};

class Coverage : public Family {
 public:
  Coverage(bool is_scored, bool has_scores) : is_scored_(is_scored), has_scores_(has_scores) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    counters.coverage = spans_.emplace(layout, "coverage", has_scores_).counters();
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.units = spans_->seen(state);
    results.counts.ignored = state.of(spans_->ignored)[0];
    // The task predict covers samples without scoring any, so none of them is wrong either.
    results.counts.scored = is_scored_ ? results.units.count - results.counts.ignored : 0;
    if (spans_->tied) results.counts.tied = state.of(*spans_->tied)[0];
    results.counts.not_finite = state.of(spans_->not_finite)[0];
    results.counts.without_scores = is_scored_ ? state.of(spans_->without_scores)[0] : 0;
  }

 private:
  bool is_scored_ = true, has_scores_ = true;
  std::optional<CoverageSpans> spans_;
};

class SampleCoverage : public Family {
 public:
  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    counters.samples = spans_.emplace(layout, "samples").counters();
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.seen_samples = spans_->seen(state);
  }

 private:
  std::optional<CoverageSpans> spans_;
};

}  // namespace

FamilyEntry coverage_family() {
  return {.metrics = {},
          .kept = Kept::always,
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Coverage>(task_traits(options.task).is_scored,
                                              options.has_scores);
          }};
}

FamilyEntry sample_coverage_family() {
  return {.metrics = {},
          .kept = Kept::always,
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<SampleCoverage>();
          }};
}

}  // namespace tally::metrics
