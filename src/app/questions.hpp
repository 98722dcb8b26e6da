// From the windows of question answering to questions, after the loop.
#pragma once

#include <cstdint>

#include <tally/comm/communicator.hpp>

#include "job.hpp"

namespace tally::app {

// What is scored: samples, or the units that several of them make. With --limit those of which a
// sample is evaluated. Throws Error(dataset).
std::int64_t num_units(const Job& job);

// Columns of LoopResult::texts, each a JSON file of the result: its lines, without the brackets.
inline constexpr std::int64_t kPredictionsText = 0;
inline constexpr std::int64_t kNbestText = 1;

// Collective. For tasks whose units are questions, else nothing: puts together what the windows of
// each question found, on the rank that has its first window, scores the answers and puts questions
// in the place of samples in `mine`. Throws comm::AgreedFailure.
void join_questions(const comm::Communicator& comm, Job& job, LoopResult& mine);

}  // namespace tally::app
