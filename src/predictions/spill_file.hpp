// A file without a name on node-local disk: gone with the process, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <tally/base/unique_descriptor.hpp>

namespace tally::predictions {

// Every function throws Error(output) naming the folder and --spill-dir.
class SpillFile {
 public:
  explicit SpillFile(std::filesystem::path folder);

  std::int64_t num_bytes() const { return num_bytes_; }
  // Puts bytes at the end.
  void append(std::span<const std::byte> bytes);
  void read(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path folder_;
  UniqueDescriptor descriptor_;
  std::int64_t num_bytes_ = 0;
};

}  // namespace tally::predictions
