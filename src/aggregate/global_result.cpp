// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/global_result.hpp>

#include <algorithm>
#include <sstream>

#include <tally/aggregate/matched_detections.hpp>
#include <tally/aggregate/question_units.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/ordered_metrics/digest_encoding.hpp>
#include <tally/plan/coverage.hpp>

#include "bootstrap_and_subgroup_metrics.hpp"
#include "order_based_metrics.hpp"
#include "reduce_states.hpp"

namespace tally::app {
namespace {

// Throws Error(internal). The evidence adds up over ranks like the counters: a sample that is
// missing or counted twice changes the count, one in the place of another the sum or the mix.
void check_coverage(const metrics::IndexEvidence& seen, const plan::CoverageEvidence& expected,
                    std::string_view what) {
  const plan::CoverageEvidence evidence{seen.count, seen.index_sum, seen.index_mix};
  if (evidence == expected) return;
  throw Error(ErrorKind::internal,
              format("the {} were not evaluated exactly once (count {}, expected {}; index sum "
                     "{}, expected {}; index mix {:#x}, expected {:#x})",
                     what, evidence.count, expected.count, evidence.index_sum, expected.index_sum,
                     evidence.index_mix, expected.index_mix),
              "This is a defect of tally: please report it.");
}

// Where samples make units, both must be complete: every sample and every unit exactly once.
void check_coverage(const EvaluationSession& session, const metrics::Results& found) {
  check_coverage(found.samples(), plan::expected_evidence({0, session.plan.grid->num_samples()}),
                 "samples");
  if (!found.seen_samples) return;
  check_coverage(found.units, plan::expected_evidence({0, session.scoring.num_units}), "units");
}

// Collective. Adds up what the ranks found, complete on rank 0. A rank sends its count and its
// first indices as numbers in a text. What a resumed run has taken over may be of any samples, and
// so indices are sorted.
evaluate::NotFinite all_not_finite(const comm::Communicator& comm,
                                   const evaluate::NotFinite& local) {
  std::string text = format("{}", local.count);
  for (const std::int64_t index : local.first_indices) text += format(" {}", index);
  evaluate::NotFinite all;
  for (const std::string& of_rank : comm.gather(text)) {
    std::istringstream numbers(of_rank);
    std::int64_t count = 0;
    numbers >> count;
    evaluate::NotFinite one{.count = count, .first_indices = {}};
    for (std::int64_t index = 0; numbers >> index;) one.first_indices.push_back(index);
    all.merge(one);
  }
  return all;
}

}  // namespace

GlobalResult merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                           LocalUnits& local) {
  GlobalResult global;
  global.not_finite = all_not_finite(comm, local.loop.stats.not_finite);
  // Only rank 0 has the sum; agreement makes its failure that of all ranks.
  comm::agree_on(comm, [&] {
    const bool failed = global.not_finite.count > 0 && session.config.scoring.on_nan == "fail";
    if (!failed) return;
    throw evaluate::numeric_error(global.not_finite,
                                  session.scoring.outputs == metrics::OutputKind::classes);
  });
  // Adding up leaves sums that are not in canonical form, which a digest needs.
  reduce(comm, session, local.state);
  local.state.canonicalise();
  comm::agree_on(comm, [&] {
    global.results = session.scoring.task->finalize(local.state);
    check_coverage(session, global.results);
  });
  return global;
}

namespace {

// Metrics that are not wanted have no parts and leave the digest as it is.
template <class Part>
void add_to_digest(const std::vector<Part>& parts, digest::Sha256& digest) {
  if (parts.empty()) return;
  ordered_metrics::pass_digest_bytes(
      parts, [&](std::span<const std::byte> bytes) { digest.update(bytes); });
}

// Says which metrics that need an order are wanted.
struct Ordered {
  bool curves = false;
  bool spearman = false;
};

// Collective. Adds the metrics of one dataset of subgroups on rank 0, and their counts to the
// digest.
void add_group(const comm::Communicator& comm, const EvaluationSession& session,
               const LocalUnits& local, const Subgroups& groups, const Ordered& ordered,
               GlobalResult& global, digest::Sha256& digest) {
  // Every rank takes part for every value, in the same order, even if none of its samples has it.
  const auto codes = group_codes(session, local, groups);
  const auto states = count_subgroups(comm, session, local, groups, codes);
  for (const exact::State& state : states) digest.update(state.bytes());
  report::GroupMetrics made;
  if (comm.is_root()) made = metrics_of(session, groups, states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto code = checked_cast<std::int32_t>(i);
    if (ordered.curves) {
      const auto curves = count_curves_of(comm, session, local, codes, code);
      add_to_digest(curves, digest);
      if (comm.is_root()) add_curve_metrics(session, curves, made.values[i].results);
    }
    if (ordered.spearman) {
      const auto sums = sum_spearman_of(comm, session, local, codes, code);
      add_to_digest(sums, digest);
      if (comm.is_root()) add_spearman(sums, made.values[i].results);
    }
  }
  if (comm.is_root()) global.groups.push_back(std::move(made));
}

// finalize() gives proportions Wilson's intervals in any case; --intervals off removes them.
void remove_intervals(metrics::Results& results) {
  for (auto& metric : results.metrics) metric.interval.reset();
  for (auto& values : results.per_class) {
    for (auto& metric : values.values) metric.interval.reset();
  }
}

void remove_intervals(GlobalResult& global) {
  remove_intervals(global.results);
  for (auto& group : global.groups) {
    for (auto& value : group.values) remove_intervals(value.results);
  }
}

}  // namespace

namespace {

// Exact curves of many classes are larger, and are left out.
constexpr std::int64_t kMostExchangedBytes = std::int64_t{64} << 20;

report::ExchangedCounts counts_of(const exact::State& state, const digest::Sha256& exchanged) {
  report::ExchangedCounts counts;
  std::istringstream lines(state.layout().description());
  for (std::string line; std::getline(lines, line);) counts.layout.push_back(line);
  counts.state.assign(state.values().begin(), state.values().end());
  counts.exchanged.assign(exchanged.recorded().begin(), exchanged.recorded().end());
  counts.exchanged_bytes = exchanged.num_bytes();
  return counts;
}

}  // namespace

void compute_post_loop_metrics(const comm::Communicator& comm, const EvaluationSession& session,
                               LocalUnits& local, GlobalResult& global) {
  // The order of what is added to the digest is part of what digests.state means: any other order
  // would change the digests of all results.
  digest::Sha256 digest;
  digest.update(local.state.bytes());
  if (comm.is_root()) digest.keep(kMostExchangedBytes);
  const auto curves = count_all_curves(comm, session, local);
  const auto spearman_sums = sum_all_spearman(comm, session, local);
  add_to_digest(curves, digest);
  add_to_digest(spearman_sums, digest);
  if (comm.is_root()) {
    add_curve_metrics(session, curves, global.results);
    add_spearman(spearman_sums, global.results);
    global.curves = points_of(curves);
  }
  add_best_answers(comm, session, local, global.results, digest);
  add_average_precisions(comm, session, local, global.results, digest);
  // Curves and sums are the same on all ranks, so that all make the same collective calls below.
  const Ordered ordered{!curves.empty(), !spearman_sums.empty()};
  for (const Subgroups& groups : session.scoring.subgroups) {
    add_group(comm, session, local, groups, ordered, global, digest);
  }
  global.state_digest = digest.hex();
  if (comm.is_root()) global.counts = counts_of(local.state, digest);
  // Intervals are made of what the digest covers already, and have no part in it.
  if (session.config.results.intervals == "bootstrap") {
    add_bootstrap(comm, session, local, global.results);
    add_curve_intervals(comm, session, local, curves, global.results);
    add_spearman_intervals(comm, session, local, global.results);
  }
  if (session.config.results.intervals == "off") remove_intervals(global);
}

}  // namespace tally::app
