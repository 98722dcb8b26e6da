#include <tally/aggregate/global_result.hpp>

#include <algorithm>
#include <sstream>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/plan/coverage.hpp>

#include "reduce_states.hpp"

namespace tally::app {
namespace {

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

void check_coverage(const EvaluationSession& session, const metrics::Results& found) {
  check_coverage(found.samples(), plan::expected_evidence({0, session.plan.grid->num_samples()}),
                 "samples");
  if (!found.seen_samples) return;
  check_coverage({found.count, found.index_sum, found.index_mix},
                 plan::expected_evidence({0, session.scoring.num_units}), "units");
}

// Collective. Of all ranks, on rank 0: ranks have their samples in the order of the indices.
evaluate::NotFinite all_not_finite(const comm::Communicator& comm,
                                   const evaluate::NotFinite& local) {
  std::string text = format("{}", local.count);
  for (const std::int64_t index : local.first_indices) text += format(" {}", index);
  evaluate::NotFinite all;
  for (const std::string& of_rank : comm.gather(text)) {
    std::istringstream numbers(of_rank);
    std::int64_t count = 0;
    numbers >> count;
    all.count += count;
    for (std::int64_t index = 0; numbers >> index;) all.first_indices.push_back(index);
  }
  all.first_indices.resize(std::min(all.first_indices.size(), evaluate::NotFinite::kListed));
  return all;
}

}  // namespace

GlobalResult merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                           LocalUnits& local) {
  GlobalResult global;
  global.not_finite = all_not_finite(comm, local.loop.stats.not_finite);
  comm::agree_on(comm, [&] {
    const bool failed = global.not_finite.count > 0 && session.config.scoring.on_nan == "fail";
    if (failed) throw evaluate::numeric_error(global.not_finite);
  });
  reduce(comm, session, local.state);
  local.state.canonicalise();
  comm::agree_on(comm, [&] {
    global.results = session.scoring.task->finalize(local.state);
    check_coverage(session, global.results);
  });
  return global;
}

}  // namespace tally::app
