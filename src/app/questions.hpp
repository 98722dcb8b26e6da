// From the windows of question answering to questions, after the loop.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>
#include <tally/digest/digest.hpp>

#include "job.hpp"

namespace tally::app {

// How many units are scored: samples, or what several of them make. With --limit those of which a
// sample is evaluated. Reads the data set; throws Error(dataset).
std::int64_t count_units(const Job& job);

// Columns of LoopResult::texts, each a JSON file of the result: its lines, without the brackets.
inline constexpr std::int64_t kPredictionsText = 0;
inline constexpr std::int64_t kNbestText = 1;

// Collective. For tasks whose units are questions, else nothing: puts together what the windows of
// each question found, on the rank that has its first window, scores the answers and puts questions
// in the place of samples in `mine`. Throws comm::AgreedFailure.
void join_questions(const comm::Communicator& comm, Job& job, LoopResult& mine);

// Collective. The figures at the best threshold for no answer, where they are wanted, on rank 0;
// what they are made of goes into the digest there.
void add_best_answers(const comm::Communicator& comm, const Job& job, const LoopResult& mine,
                      metrics::Results& results, digest::Sha256& digest);

}  // namespace tally::app
