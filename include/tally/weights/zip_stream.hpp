// SPDX-License-Identifier: Apache-2.0
// LibTorch's reader of zip archives. PyTorch reads checkpoints with it, so that both find the same
// entries in a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {

// The directory of an archive. Not for several threads at once.
class ZipStream {
 public:
  virtual ~ZipStream() = default;

  struct Record {
    std::uint64_t header = 0;     // where the entry's local header begins
    std::uint64_t offset = 0;     // where its bytes begin
    std::uint64_t num_bytes = 0;  // unpacked
  };
  // Names without the common folder, in the order of the directory. Throws FormatError.
  virtual std::vector<std::string> names() = 0;
  // Throws FormatError.
  virtual Record record(const std::string& name) = 0;
};

// `bytes` outlive what is returned. Throws FormatError if they are no archive of PyTorch.
std::unique_ptr<ZipStream> open_zip_stream(const ByteSource& bytes);

}  // namespace tally::weights
