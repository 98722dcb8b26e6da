// SPDX-License-Identifier: Apache-2.0
// Describes where this process runs: its host, its program, and the shared libraries that
// it has loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally {

std::string host_name();
// "AMD EPYC 7B13", as the kernel names the first processor.
std::string cpu_model();

// Files of all shared libraries in this process.
std::vector<std::string> loaded_libraries();

// What the linker made of the contents of the program's file, in hexadecimal: another build of the
// same sources has another one. Empty where the linker made none.
std::string program_build_id();
// The same of a library in this process, by the name of its file; empty where it is not loaded.
std::string library_build_id(std::string_view file_name);

// The different files among `loaded` whose name begins with `name` ("libnccl.so"), in order; a file
// that was loaded by several names counts once.
std::vector<std::string> copies_of(std::string_view name, const std::vector<std::string>& loaded);

// Throws Error(environment) naming both files where one of these libraries is loaded twice: two
// copies of one split its state and hang or crash.
void require_single_copies(const std::vector<std::string_view>& names,
                           const std::vector<std::string>& loaded);

// Whether a library of version `loaded` does for what was compiled with `compiled`: within a major
// version, numbers of which begin every `major_step`, binary interfaces only grow.
constexpr bool goes_with(int loaded, int compiled, int major_step) {
  return loaded / major_step == compiled / major_step && loaded >= compiled;
}

}  // namespace tally
