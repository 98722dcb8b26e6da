// Detection: what a model found in each image is held against its objects, after the loop.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/digest/digest.hpp>

#include "local_result.hpp"
#include "session.hpp"

namespace tally::app {

// In place of the loop where detections are saved ones: nothing is computed, images are counted.
LocalResult pass_over_images(EvaluationSession& session, evaluate::Observer& observer);

// Collective. For the task detection, else nothing: reads the objects of this rank's images, counts
// what was found and puts detections in the place of what the loop kept. Throws
// comm::AgreedFailure.
void match_detections(const comm::Communicator& comm, EvaluationSession& session,
                      LocalResult& local);

// Collective. Average precision, of all and of each class, where it is wanted, on rank 0; what it
// is made of goes into the digest. `results` are of all ranks.
void add_average_precisions(const comm::Communicator& comm, const EvaluationSession& session,
                            const LocalResult& local, metrics::Results& results,
                            digest::Sha256& digest);

}  // namespace tally::app
