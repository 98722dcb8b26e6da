// Where the one NCCL of this process is: two of them would split its state and hang.
#pragma once

#include <string>
#include <vector>

namespace tally::comm {

// Files of all shared libraries in this process.
std::vector<std::string> loaded_libraries();

// The file to load, given what is in the process: the NCCL that is there already, else the one in
// the wheel beside LibTorch, else whatever the system's search finds. Error(environment) where two
// copies are there.
std::string choose_nccl(const std::vector<std::string>& loaded);

}  // namespace tally::comm
