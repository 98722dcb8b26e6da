#include <tally/weights/entry_check.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <tally/base/format.hpp>
#include <tally/digest/digest.hpp>
#include <tally/weights/format_error.hpp>

namespace tally::weights {
namespace {

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
  std::ranges::stable_sort(entries_, {}, place);
  // clang 14 cannot read std::ranges::unique() of GCC 12.
  const auto is_same = [&](const Entry& a, const Entry& b) { return place(a) == place(b); };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), is_same), entries_.end());
}

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
