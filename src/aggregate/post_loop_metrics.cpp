#include <tally/aggregate/post_loop_metrics.hpp>

#include <tally/aggregate/detections.hpp>
#include <tally/aggregate/questions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/digest/digest.hpp>
#include <tally/ordered_metrics/digest_encoding.hpp>

#include "bootstrap.hpp"
#include "curves.hpp"
#include "spearman.hpp"
#include "subgroup_metrics.hpp"

namespace tally::app {
namespace {

template <class Part>
void add_to_digest(const std::vector<Part>& parts, digest::Sha256& digest) {
  if (parts.empty()) return;
  ordered_metrics::pass_digest_bytes(
      parts, [&](std::span<const std::byte> bytes) { digest.update(bytes); });
}

// Which metrics that need an order are wanted.
struct Ordered {
  bool curves = false;
  bool spearman = false;
};

// Collective. The metrics of one dataset of subgroups, on rank 0.
void add_group(const comm::Communicator& comm, const EvaluationSession& session,
               const LocalUnits& local, const Subgroups& groups, const Ordered& ordered,
               GlobalResult& global, digest::Sha256& digest) {
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

void compute_post_loop_metrics(const comm::Communicator& comm, const EvaluationSession& session,
                               LocalUnits& local, GlobalResult& global) {
  digest::Sha256 digest;
  digest.update(local.state.bytes());
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
  const Ordered ordered{!curves.empty(), !spearman_sums.empty()};
  for (const Subgroups& groups : session.scoring.subgroups) {
    add_group(comm, session, local, groups, ordered, global, digest);
  }
  global.state_digest = digest.hex();
  if (session.config.results.intervals == "bootstrap") {
    add_bootstrap(comm, session, local, global.results);
    add_curve_intervals(comm, session, local, curves, global.results);
    add_spearman_intervals(comm, session, local, global.results);
  }
  if (session.config.results.intervals == "off") remove_intervals(global);
}

}  // namespace tally::app
