// Who and where this process is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tally {

std::string host_name();
// "AMD EPYC 7B13", as the kernel names the first processor.
std::string cpu_model();

// What this process and those beside it can still take: of the node, or of its control group where
// that has a limit (batch systems give jobs one). None where the kernel does not say.
std::optional<std::int64_t> available_memory_bytes();

}  // namespace tally
