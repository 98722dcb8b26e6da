// SPDX-License-Identifier: Apache-2.0
// Whether the node has the memory for files by which Open MPI's ranks exchange messages, before it
// takes it: later a full /dev/shm is a SIGBUS.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tally::comm {

// The note to print where there is too little: as a launcher of Open MPI started this process with
// others of its node. Where no such launcher did, or its settings say that messages take another
// way, nothing is looked at. `get` looks a variable up and returns null where it is not set;
// `free_bytes` are those of the file system of a folder, none where it cannot say.
std::optional<std::string> shared_memory_note(
    const char* (*get)(const char* variable),
    const std::function<std::optional<std::int64_t>(const std::string& folder)>& free_bytes);

// The same, of this process.
std::optional<std::string> shared_memory_note();

}  // namespace tally::comm
