// SPDX-License-Identifier: Apache-2.0
#include "earlier_progress.hpp"

#include <algorithm>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/session/loop_observations.hpp>

namespace tally::app {
namespace {

LoopObservations observations_of(const resume::Progress& part) {
  auto found = observations_from(part.observations);
  // They were looked at when the run began.
  if (!found) throw Error(ErrorKind::internal, "a part of the progress lacks its observations");
  return std::move(*found);
}

bool has_first_batch(const resume::Progress& part) {
  return !part.done.empty() && part.done.front().first == 0;
}

}  // namespace

void take_over_records(const EvaluationSession& session, const plan::Segment& segment,
                       LocalSamples& result) {
  const auto& part = session.resumption->parts.at(to_size(*segment.part));
  const resume::RecordsReader reader(progress_folder(session), part,
                                     {result.log.columns(), result.retained.columns()});
  reader.read(session.plan.grid->samples_of(segment.batches),
              [&](const predictions::RecordBatch& log, const predictions::RecordBatch& retained) {
                if (!result.log.columns().empty()) result.log.append(log);
                if (!result.retained.columns().empty()) result.retained.append(retained);
              });
}

void take_over_counts(const Resumption& resumption, LocalSamples& result) {
  for (const resume::Progress& part : resumption.parts) {
    // Rank 0 alone needs it, which may have other parts to count.
    if (has_first_batch(part)) result.loop.first_batch = observations_of(part).first_batch;
    if (part.state.empty()) continue;
    exact::State state(result.state);
    if (part.state.size() != state.values().size()) {
      throw Error(ErrorKind::output, "a part of the progress counted something else",
                  "Start anew with --overwrite in the place of --resume.");
    }
    std::ranges::copy(part.state, state.values().begin());
    result.state.merge(std::move(state));
    const auto observations = observations_of(part);
    result.loop.stats.not_finite.merge(observations.not_finite);
    result.loop.stats.pixels.merge(observations.pixels);
  }
}

}  // namespace tally::app
