// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/zip_archive.hpp>

#include <algorithm>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/digest/inflate.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/weights/byte_source.hpp>

#include "torch_save/zip_directory.hpp"

namespace tally::weights {
namespace {

// PKWARE's APPNOTE.TXT, 4.3.7.
constexpr std::string_view kLocalHeader = "PK\x03\x04";
constexpr std::size_t kMethodOffset = 8;
constexpr std::size_t kNameLengthOffset = 26;
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kLongestContent = std::uint64_t{1} << 30;
constexpr std::uint64_t kCheckedAtOnce = std::uint64_t{1} << 18;  // stays in the cache
constexpr std::uint16_t kDeflate = 8;

FormatError another_name(const std::string& name) {
  return FormatError(format("entry '{}' has another name where it lies", name));
}

void compare(const std::string& name, std::uint32_t found, std::uint32_t expected) {
  if (found == expected) return;
  throw CutShort(
      format("the CRC-32 of entry '{}' is {:08x}, its archive says {:08x}", name, found, expected));
}

// The local header before an entry's bytes must be of the entry that the directory names: a damaged
// directory may lead to the bytes of another one. Returns the folder before its name there, which
// is the same for all entries of an archive.
std::string check_local_header(const ByteSource& bytes, std::uint64_t at, const std::string& name,
                               bool is_compressed) {
  const auto header = bytes.read(at, kLocalHeaderBytes);
  const auto field = [&](std::size_t offset) {
    return read_little_endian<std::uint16_t>(header.data() + offset);
  };
  if (field(kMethodOffset) != (is_compressed ? kDeflate : 0)) {
    throw FormatError(format("entry '{}' is compressed in another way where it lies", name));
  }
  const auto local_name = bytes.read(at + kLocalHeaderBytes, field(kNameLengthOffset));
  auto folder = "/" + std::string(as_text(local_name));
  if (!folder.ends_with("/" + name)) throw another_name(name);
  folder.resize(folder.size() - name.size());
  return folder;
}

}  // namespace

bool looks_like_zip(const ByteSource& bytes) {
  const auto head = bytes.read(0, std::min<std::uint64_t>(bytes.size(), kLocalHeader.size()));
  return as_text(head) == kLocalHeader;
}

bool has_zip_end(const ByteSource& bytes) { return find_zip_end(bytes).has_value(); }

Archive::Archive(const ByteSource& bytes) : bytes_(bytes) {
  if (!has_zip_end(bytes)) throw CutShort("the end of its zip archive is missing");
  stream_ = open_zip_stream(bytes);
  entries_ = stream_->names();
  // Readers of zip archives differ in which of two entries with one name they take, so that one
  // file could give two sets of weights: such an archive is refused.
  std::sort(entries_.begin(), entries_.end());
  const auto twice = std::adjacent_find(entries_.begin(), entries_.end());
  if (twice != entries_.end()) {
    throw FormatError(format("the archive has two entries '{}'", *twice));
  }
  directory_ = read_zip_directory(bytes);
}

bool Archive::has(std::string_view entry) const {
  return std::binary_search(entries_.begin(), entries_.end(), entry);
}

bool Archive::has_under(std::string_view folder) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), folder);
  // The names are sorted: the first that is not less than the folder's begins with it, if any does.
  return found != entries_.end() && found->starts_with(folder);
}

Archive::Place Archive::place(const std::string& name) const {
  const auto found = locate(name);
  if (directory_.find(name)->second.is_compressed) {
    throw FormatError(format("entry '{}' is compressed; PyTorch never does that", name));
  }
  return found;
}

Archive::Place Archive::locate(const std::string& name) const {
  const auto known = directory_.find(name);
  if (!has(name) || known == directory_.end()) {
    throw FormatError(format("the archive has no entry '{}'", name));
  }
  const auto& entry = known->second;
  const auto [header, offset, num_bytes] = stream_->record(name);
  Place found{offset, num_bytes, std::nullopt};
  if (entry.crc32 != 0) found.crc32 = entry.crc32;
  // The offsets come from the file. The size of a compressed entry is that of its unpacked bytes,
  // which the file does not hold; inflate_raw() checks it.
  const bool is_inside = header <= bytes_.size() && bytes_.size() - header >= kLocalHeaderBytes &&
                         offset <= bytes_.size() &&
                         (entry.is_compressed || num_bytes <= bytes_.size() - offset);
  if (!is_inside) throw FormatError(format("entry '{}' reaches past the end of the file", name));
  const auto folder = check_local_header(bytes_, header, name, entry.is_compressed);
  if (folder_.empty()) folder_ = folder;
  if (folder != folder_) throw another_name(name);
  return found;
}

std::vector<std::byte> Archive::content(const std::string& name) const {
  const auto found = place(name);
  if (found.num_bytes > kLongestContent) {
    throw FormatError(format("entry '{}' has {} bytes", name, found.num_bytes));
  }
  auto bytes = bytes_.read(found.offset, found.num_bytes);
  if (found.crc32) compare(name, digest::crc32(0, bytes), *found.crc32);
  return bytes;
}

void Archive::check() const {
  for (const auto& name : entries_) check(name);
}

void Archive::check(const std::string& name) const {
  const auto found = locate(name);
  if (!found.crc32) return;
  const auto& entry = directory_.find(name)->second;
  compare(name, entry.is_compressed ? crc32_unpacked(name, found, entry) : crc32_of(found),
          *found.crc32);
}

std::uint32_t Archive::crc32_of(const Place& place) const {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < place.num_bytes;) {
    const auto piece =
        bytes_.read(place.offset + done, std::min(kCheckedAtOnce, place.num_bytes - done));
    crc = digest::crc32(crc, piece);
    done += piece.size();
  }
  return crc;
}

// LibTorch's own unpacking of a damaged stream may take what was in memory before for a part of it.
std::uint32_t Archive::crc32_unpacked(const std::string& name, const Place& place,
                                      const ZipEntry& entry) const {
  if (place.num_bytes > kLongestContent) {
    throw FormatError(format("entry '{}' has {} bytes", name, place.num_bytes));
  }
  std::vector<std::byte> content(place.num_bytes);
  if (!digest::inflate_raw(bytes_.read(place.offset, entry.num_stored_bytes), content)) {
    throw CutShort(format("entry '{}' cannot be unpacked", name));
  }
  return digest::crc32(0, content);
}

}  // namespace tally::weights
