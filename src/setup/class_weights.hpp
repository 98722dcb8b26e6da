// The file of --class-weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::app {

// Collective. Rank 0 reads the file: numbers from 0 up, one per class, separated by blanks or line
// ends. Empty for an empty path. Throws comm::AgreedFailure (usage).
std::vector<double> read_class_weights(const comm::Communicator& comm, const std::string& path,
                                       std::int64_t num_classes);

}  // namespace tally::app
