#include "spill_file.hpp"

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/file_io.hpp>
#include <tally/base/format.hpp>

namespace tally::predictions {
namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, std::string_view what,
                       std::string_view call, std::string_view reason) {
  throw Error(ErrorKind::output,
              format("predictions that do not fit into memory cannot be {} folder '{}' ({}: {})",
                     what, folder.string(), call, reason),
              "Choose a folder on a local disk with free space by --spill-dir.");
}

}  // namespace

SpillFile::SpillFile(std::filesystem::path folder)
    : folder_(std::move(folder)), descriptor_(open_scratch(folder_)) {
  if (!descriptor_) fail(folder_, "kept in", "open", errno_text(errno));
}

void SpillFile::append(std::span<const std::byte> bytes) {
  const std::string problem = write_at(descriptor_.get(), num_bytes_, bytes);
  if (!problem.empty()) fail(folder_, "kept in", "write", problem);
  num_bytes_ += std::ssize(bytes);
}

void SpillFile::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::string problem = read_at(descriptor_.get(), offset, out);
  if (!problem.empty()) fail(folder_, "read back from", "read", problem);
}

}  // namespace tally::predictions
