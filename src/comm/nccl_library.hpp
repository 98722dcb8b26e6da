// Where the one NCCL of this process is.
#pragma once

#include <string>
#include <vector>

namespace tally::comm {

// The file to load, given the libraries in the process: the NCCL that is there already, else the
// one in the wheel beside LibTorch, else whatever the system's search finds. Error(environment)
// where two copies are there.
std::string choose_nccl(const std::vector<std::string>& loaded);

}  // namespace tally::comm
