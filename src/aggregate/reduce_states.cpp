// SPDX-License-Identifier: Apache-2.0
#include "reduce_states.hpp"

#include <algorithm>
#include <cstdint>

#include <tally/comm/reducer.hpp>

namespace tally::app {
namespace {

// Adds all states in one sum: thousands of small ones would take as many round trips. All ranks
// have as many states of one layout, so that the joined vectors have one length.
void sum_together(comm::Reducer& reducer, std::vector<exact::State>& states) {
  std::vector<std::int64_t> all;
  for (const exact::State& state : states) {
    all.insert(all.end(), state.values().begin(), state.values().end());
  }
  reducer.sum(all);
  auto summed = all.begin();
  for (exact::State& state : states) {
    const auto values = state.values();
    std::copy_n(summed, values.size(), values.begin());
    summed += std::ssize(values);
  }
}

}  // namespace

void reduce(const comm::Communicator& comm, const EvaluationSession& session, exact::State& state) {
  if (session.config.execution.check_reduction) {
    comm::verified_sum(*session.reducer, comm, state);
  } else {
    session.reducer->sum(state.values());
  }
}

void reduce_all(const comm::Communicator& comm, const EvaluationSession& session,
                std::vector<exact::State>& states) {
  if (session.config.execution.check_reduction) {
    for (exact::State& state : states) comm::verified_sum(*session.reducer, comm, state);
  } else {
    sum_together(*session.reducer, states);
  }
  // Adding up leaves sums that are not in canonical form, which bytes(), for digests, refuses.
  for (exact::State& state : states) state.canonicalise();
}

}  // namespace tally::app
