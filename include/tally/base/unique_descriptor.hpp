// Owner of a POSIX file descriptor.
#pragma once

#include <tally/base/unique_handle.hpp>

namespace tally {

struct DescriptorTraits {
  using Handle = int;
  static Handle invalid() noexcept { return -1; }
  static void close(Handle descriptor) noexcept;
};
using UniqueDescriptor = UniqueHandle<DescriptorTraits>;

}  // namespace tally
