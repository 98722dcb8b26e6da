// Who and where this process is.
#pragma once

#include <string>

namespace tally {

std::string host_name();
// "AMD EPYC 7B13", as the kernel names the first processor.
std::string cpu_model();

}  // namespace tally
