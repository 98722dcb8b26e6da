// SPDX-License-Identifier: Apache-2.0
// Reads a zip archive as PyTorch writes it: uncompressed entries under one folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/weights/byte_source.hpp>
#include <tally/weights/zip_stream.hpp>

namespace tally::weights {

// What the first bytes of every zip archive say.
bool looks_like_zip(const ByteSource& bytes);
// Whether its end is there; if not, the file was cut short.
bool has_zip_end(const ByteSource& bytes);

// What the directory of a zip archive says of an entry.
struct ZipEntry {
  std::uint32_t crc32 = 0;             // of its bytes, uncompressed; 0: its writer left it out
  std::uint32_t num_stored_bytes = 0;  // as they lie there
  bool is_compressed = false;
};
using ZipDirectory = std::map<std::string, ZipEntry, std::less<>>;  // by name without the folder

class Archive {
 public:
  // `bytes` outlive the archive. Throws FormatError if they are no archive of PyTorch.
  explicit Archive(const ByteSource& bytes);

  // Names without the common folder: "data.pkl", "data/0".
  const std::vector<std::string>& entries() const { return entries_; }
  bool has(std::string_view entry) const;
  bool has_under(std::string_view folder) const;

  struct Place {
    std::uint64_t offset = 0, num_bytes = 0;
    std::optional<std::uint32_t> crc32;  // of these bytes; none where the writer left it out
  };
  // Where the bytes of an entry lie. Throws FormatError if it is absent, compressed or reaches past
  // the end.
  Place place(const std::string& name) const;
  // The bytes themselves, whose CRC-32 was compared. Throws FormatError, also for more than a
  // gigabyte: no text or directory is as large.
  std::vector<std::byte> content(const std::string& name) const;
  // Compares the CRC-32 of every entry, compressed ones included. Throws FormatError naming the
  // first one that is damaged.
  void check() const;

 private:
  Place locate(const std::string& name) const;
  void check(const std::string& name) const;
  std::uint32_t crc32_of(const Place& place) const;
  std::uint32_t crc32_unpacked(const std::string& name, const Place& place,
                               const ZipEntry& entry) const;
  const ByteSource& bytes_;
  std::unique_ptr<ZipStream> stream_;
  std::vector<std::string> entries_;  // sorted
  ZipDirectory directory_;
  mutable std::string folder_;  // of all entries, once one of them was looked at
};

}  // namespace tally::weights
