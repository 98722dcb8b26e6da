#include <isa-l/crc.h>

#include <algorithm>
#include <limits>

#include <tally/digest/digest.hpp>

namespace tally::digest {

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  // The library takes and returns the register as it is: the inversions before and after are ours.
  // It counts in int, and its argument is not const though it only reads.
  constexpr std::size_t kPiece = std::numeric_limits<int>::max();
  std::uint32_t crc = ~std::uint32_t{0};
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    crc = crc32_iscsi(data, static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

}  // namespace tally::digest
