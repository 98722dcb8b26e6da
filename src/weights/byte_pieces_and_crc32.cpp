// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/byte_pieces_and_crc32.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <tally/base/format.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

// Reading a few bytes too many is cheaper than reading twice.
constexpr std::uint64_t kLargestGap = 4096;

// The parts of these tensors in the order in which files are read: forward, one file after the
// other. The pieces are planned and the checksums are taken in this order.
std::vector<Piece::Content> all_contents(const Checkpoint& checkpoint,
                                         const std::vector<std::string>& names) {
  std::vector<Piece::Content> all;
  for (const auto& name : names) {
    const auto found = checkpoint.tensors.find(name);
    for (const auto& part : found->second.parts) all.push_back({&found->first, &part});
  }
  std::ranges::sort(all, {}, [](const Piece::Content& content) {
    const auto& part = *content.part;
    return std::tuple(part.file, part.offset, part.num_bytes);
  });
  return all;
}

// Tells whether the part is read together with the piece before it. A part that lies within the
// piece, such as another view of the same storage, joins it at any size.
bool joins(const Piece& piece, const StoredPart& part, std::uint64_t most_bytes) {
  if (part.file != piece.file) return false;
  const auto end = piece.offset + piece.num_bytes;
  if (part.offset > end && part.offset - end >= kLargestGap) return false;
  return part.offset + part.num_bytes <= std::max(end, piece.offset + most_bytes);
}

}  // namespace

std::vector<Piece> plan_pieces(const Checkpoint& checkpoint, const std::vector<std::string>& names,
                               std::uint64_t most_bytes) {
  std::vector<Piece> pieces;
  for (const auto& content : all_contents(checkpoint, names)) {
    const auto& part = *content.part;
    if (pieces.empty() || !joins(pieces.back(), part, most_bytes)) {
      pieces.push_back({part.file, part.offset, 0, {}});
    }
    auto& piece = pieces.back();
    piece.num_bytes = std::max(piece.num_bytes, part.offset + part.num_bytes - piece.offset);
    piece.contents.push_back(content);
  }
  return pieces;
}

namespace {

// Bytes of an entry that no piece holds are read in parts of at most this size.
constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;

}  // namespace

EntryCheck::EntryCheck(const std::vector<Piece>& pieces, Read read) : read_(std::move(read)) {
  for (const auto& piece : pieces) {
    for (const auto& content : piece.contents) {
      const auto& entry = content.part->entry;
      if (entry.num_bytes > 0) entries_.push_back({piece.file, entry, *content.name});
    }
  }
  const auto place = [](const Entry& entry) {
    return std::tuple(entry.file, entry.place.offset, entry.place.num_bytes);
  };
  // Many tensors can be views of one entry, which is checked once. The sort is stable, so that an
  // error names the first tensor that lies in the entry.
  std::ranges::stable_sort(entries_, {}, place);
  // clang 14 cannot read std::ranges::unique() of GCC 12.
  const auto is_same = [&](const Entry& a, const Entry& b) { return place(a) == place(b); };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), is_same), entries_.end());
}

// A piece may end within an entry, hold several entries, or begin behind entries that no piece
// holds to their end. The checksum goes over an entry from its first byte to its last, so what lies
// before the piece is read first.
void EntryCheck::add(const Piece& piece, std::span<const std::byte> bytes) {
  const auto piece_end = piece.offset + piece.num_bytes;
  while (current_ < entries_.size()) {
    const auto& entry = entries_[current_];
    if (entry.file > piece.file) return;
    if (entry.file < piece.file) {
      complete();
      continue;
    }
    const auto end = entry.place.offset + entry.place.num_bytes;
    if (entry.place.offset >= piece_end) return;
    read_until(std::min(piece.offset, end));
    const auto at = entry.place.offset + done_;
    if (at < end && at < piece_end) {
      take(bytes.subspan(at - piece.offset, std::min(end, piece_end) - at));
    }
    if (end > piece_end) return;
    complete();
  }
}

void EntryCheck::finish() {
  while (current_ < entries_.size()) complete();
}

void EntryCheck::take(std::span<const std::byte> bytes) {
  crc32_ = digest::crc32(crc32_, bytes);
  done_ += bytes.size();
}

void EntryCheck::read_until(std::uint64_t end) {
  const auto& entry = entries_[current_];
  while (entry.place.offset + done_ < end) {
    const auto at = entry.place.offset + done_;
    take(read_(entry.file, at, std::min(kReadAtOnce, end - at)));
  }
}

void EntryCheck::complete() {
  const auto& entry = entries_[current_];
  read_until(entry.place.offset + entry.place.num_bytes);
  if (crc32_ != entry.place.crc32) {
    throw CutShort(
        format("tensor '{}': the CRC-32 of its bytes is {:08x}, their archive says {:08x}",
               entry.tensor, crc32_, entry.place.crc32));
  }
  ++current_;
  done_ = 0;
  crc32_ = 0;
}

}  // namespace tally::weights
