// SPDX-License-Identifier: Apache-2.0
#include "torch_save/zip_directory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

// The signatures, and the offsets of fields in the records below, are those of PKWARE's
// APPNOTE.TXT, 4.3.12 to 4.3.16.
constexpr std::string_view kEntry = "PK\x01\x02";
constexpr std::string_view kEnd = "PK\x05\x06";
constexpr std::string_view kEnd64 = "PK\x06\x06";
constexpr std::string_view kLocator64 = "PK\x06\x07";
constexpr std::size_t kEntryBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLocator64Bytes = 20;
// The end record may be followed by a comment, whose length has 16 bits.
constexpr std::uint64_t kLongestEnd = kEndBytes + std::numeric_limits<std::uint16_t>::max();

struct Directory {
  std::uint64_t num_entries = 0, num_bytes = 0, offset = 0;
  std::uint64_t end = 0;  // where what follows it lies
};

template <class T>
T field(std::span<const std::byte> record, std::size_t offset) {
  return read_little_endian<T>(record.data() + offset);
}

FormatError damaged() { return FormatError("the directory of its zip archive is damaged"); }

// The directory of an archive in the form for 4 GB or more (zip64), in which PyTorch writes every
// archive. `locator` is the place of the record that says where the end record lies.
Directory find_directory64(const ByteSource& bytes, std::uint64_t locator) {
  const auto at = field<std::uint64_t>(bytes.read(locator, kLocator64Bytes), 8);
  const auto record = bytes.read(at, kEnd64Bytes);
  if (!as_text(record).starts_with(kEnd64)) throw damaged();
  return {field<std::uint64_t>(record, 32), field<std::uint64_t>(record, 40),
          field<std::uint64_t>(record, 48), at};
}

Directory find_directory(const ByteSource& bytes) {
  const auto found = find_zip_end(bytes);
  if (!found) throw damaged();
  const auto end = *found;
  if (end >= kLocator64Bytes) {
    const auto locator = end - kLocator64Bytes;
    const auto head = bytes.read(locator, kLocator64.size());
    if (as_text(head) == kLocator64) return find_directory64(bytes, locator);
  }
  const auto record = bytes.read(end, kEndBytes);
  return {field<std::uint16_t>(record, 10), field<std::uint32_t>(record, 12),
          field<std::uint32_t>(record, 16), end};
}

// Takes one entry from the front. Its name is given without the folder, as LibTorch's reader gives
// names. An entry has a name, an extra field and a comment, whose lengths lie in a row.
std::pair<std::string, ZipEntry> take_entry(std::span<const std::byte>& rest) {
  if (rest.size() < kEntryBytes || !as_text(rest).starts_with(kEntry)) throw damaged();
  const std::size_t name_bytes = field<std::uint16_t>(rest, 28);
  const std::size_t all_bytes =
      kEntryBytes + name_bytes + field<std::uint16_t>(rest, 30) + field<std::uint16_t>(rest, 32);
  if (rest.size() < all_bytes) throw damaged();
  auto name = as_text(rest).substr(kEntryBytes, name_bytes);
  name.remove_prefix(std::min(name.find('/') + 1, name.size()));
  const ZipEntry entry{field<std::uint32_t>(rest, 16), field<std::uint32_t>(rest, 20),
                       field<std::uint16_t>(rest, 10) != 0};
  rest = rest.subspan(all_bytes);
  return {std::string(name), entry};
}

}  // namespace

std::optional<std::uint64_t> find_zip_end(const ByteSource& bytes) {
  const auto num_bytes = std::min(bytes.size(), kLongestEnd);
  const auto tail = bytes.read(bytes.size() - num_bytes, num_bytes);
  if (num_bytes < kEndBytes) return std::nullopt;
  // The last signature counts: entries that are archives themselves hold such a record, too.
  const auto at = as_text(tail).rfind(kEnd, num_bytes - kEndBytes);
  if (at == std::string_view::npos) return std::nullopt;
  return bytes.size() - num_bytes + at;
}

ZipDirectory read_zip_directory(const ByteSource& bytes) {
  const auto found = find_directory(bytes);
  if (found.offset > found.end || found.num_bytes != found.end - found.offset) throw damaged();
  const auto content = bytes.read(found.offset, found.num_bytes);
  std::span<const std::byte> rest(content);
  ZipDirectory directory;
  for (std::uint64_t i = 0; i < found.num_entries; ++i) directory.insert(take_entry(rest));
  // Bytes that are left over are entries that the end record does not count.
  if (!rest.empty()) throw damaged();
  return directory;
}

}  // namespace tally::weights
