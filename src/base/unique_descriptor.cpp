#include <tally/base/unique_descriptor.hpp>

#include <unistd.h>

namespace tally {

void DescriptorTraits::close(Handle descriptor) noexcept { ::close(descriptor); }

}  // namespace tally
