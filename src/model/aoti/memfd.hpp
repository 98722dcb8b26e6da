// A file without a name, which is gone with its last user whatever becomes of the process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <tally/base/unique_descriptor.hpp>

namespace tally::model {

// Holds `bytes`. Throws Error(environment).
UniqueDescriptor make_memory_file(std::span<const std::byte> bytes);

// A path of this process's that leads to the open file. It differs from call to call, even for one
// descriptor number: the dynamic loader takes two libraries of one path for the same.
std::string fresh_path_of(const UniqueDescriptor& file);

}  // namespace tally::model
