#include <algorithm>

#include <tally/digest/digest.hpp>

namespace tally::digest {
namespace {

constexpr std::uint32_t folded(std::uint32_t sum) { return (sum & 0xffffU) + (sum >> 16U); }

}  // namespace

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t kWords = 360;  // until which the second sum stays below 2^32
  std::uint32_t first = 0, second = 0;
  while (bytes.size() >= 2) {
    const std::size_t words = std::min(kWords, bytes.size() / 2);
    for (std::size_t i = 0; i < words; ++i) {
      first += std::to_integer<std::uint32_t>(bytes[2 * i]) << 8U |
               std::to_integer<std::uint32_t>(bytes[2 * i + 1]);
      second += first;
    }
    first = folded(first);
    second = folded(second);
    bytes = bytes.subspan(2 * words);
  }
  if (!bytes.empty()) {
    first += std::to_integer<std::uint32_t>(bytes[0]) << 8U;
    second += first;
    first = folded(first);
    second = folded(second);
  }
  return folded(second) << 16U | folded(first);
}

}  // namespace tally::digest
