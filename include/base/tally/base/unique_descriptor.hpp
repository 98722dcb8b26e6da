// Owner of a POSIX file descriptor, and the text of errno.
#pragma once

#include <string>

#include <tally/base/unique_handle.hpp>

namespace tally {

struct DescriptorTraits {
  using Handle = int;
  static Handle invalid() noexcept { return -1; }
  static void close(Handle descriptor) noexcept;
};
using UniqueDescriptor = UniqueHandle<DescriptorTraits>;

// What the system says of an error number: "No space left on device".
std::string errno_text(int error);

}  // namespace tally
