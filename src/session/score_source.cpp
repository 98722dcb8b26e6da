// SPDX-License-Identifier: Apache-2.0
#include <tally/session/score_source.hpp>

#include <utility>

#include <tally/session/local_result.hpp>

namespace tally::app {

LocalUnits ScoreSource::complete(const comm::Communicator& /*comm*/,
                                 const EvaluationSession& /*session*/, LocalSamples samples) {
  return LocalUnits(std::move(samples));
}

}  // namespace tally::app
