// SPDX-License-Identifier: Apache-2.0
// Matches the detections of each image with its objects, after the loop of the task detection.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/detection_matching.hpp>

namespace tally::app {

// A detection that was saved, in place of a model's.
struct SavedDetection {
  std::int64_t image = 0;  // index of its sample
  tasks::Detection detection;
};

// Collective, for the task detection. Reads the objects of this rank's images, counts what was
// found and puts detections in the place of what the loop kept. `saved`: those of this rank's
// images, by image, in place of what the loop kept; null without. Throws comm::AgreedFailure.
LocalUnits match_detections(const comm::Communicator& comm, const EvaluationSession& session,
                            LocalSamples samples, const std::vector<SavedDetection>* saved);

// Collective. Average precision, of all and of each class, where it is wanted, on rank 0; what it
// is made of goes into the digest. `results` are of all ranks.
void add_average_precisions(const comm::Communicator& comm, const EvaluationSession& session,
                            const LocalUnits& local, metrics::Results& results,
                            digest::Sha256& digest);

}  // namespace tally::app
