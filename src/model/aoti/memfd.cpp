#include "aoti/memfd.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::model {
namespace {

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ErrorKind::environment,
                  format("a compiled model of {} bytes finds no room in "
                         "memory ({})",
                         bytes.size(), errno_text(errno)),
                  "Use fewer ranks on this node.");
    }
    bytes = bytes.subspan(to_size(written));
  }
}

}  // namespace

UniqueDescriptor make_memory_file(std::span<const std::byte> bytes) {
  UniqueDescriptor file(memfd_create("tally-model", MFD_CLOEXEC));
  if (!file) {
    throw Error(
        ErrorKind::environment,
        format("this system gives no memory file for a compiled model ({})", errno_text(errno)),
        "Export the model with --format torchscript.");
  }
  write_all(file.get(), bytes);
  return file;
}

std::string fresh_path_of(const UniqueDescriptor& file) {
  static std::atomic<std::size_t> num_paths{0};
  return format("/proc/self/fd/{}{}", std::string(num_paths++, '/'), file.get());
}

}  // namespace tally::model
