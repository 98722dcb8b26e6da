#include <tally/base/unique_descriptor.hpp>

#include <unistd.h>

#include <system_error>

namespace tally {

void DescriptorTraits::close(Handle descriptor) noexcept { ::close(descriptor); }

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace tally
