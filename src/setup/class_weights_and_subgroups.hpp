// SPDX-License-Identifier: Apache-2.0
// What scoring takes besides outputs and targets: the file of --class-weights, the subgroups of a
// data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// A file with a line for each class has at most so many bytes: enough for a million classes.
inline constexpr std::int64_t kMaxClassesFileBytes = std::int64_t{64} << 20;

// Collective. Rank 0 reads the file: numbers from 0 up, one per class, separated by blanks or line
// ends. Empty for an empty path. Throws comm::AgreedFailure (usage).
std::vector<double> read_class_weights(const comm::Communicator& comm, const std::string& path,
                                       std::int64_t num_classes);

// Finds the subgroups of a data set before the loop.

// Collective. The subgroups of every dataset under /groups; what cannot be kept becomes a note.
// Each rank reads its slice of them.
std::vector<Subgroups> find_subgroups(const comm::Communicator& comm,
                                      const EvaluationSession& session, Notes& notes);

}  // namespace tally::app
