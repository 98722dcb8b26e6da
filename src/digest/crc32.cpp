#include <isa-l/crc.h>

#include <tally/digest/digest.hpp>

namespace tally::digest {

std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

}  // namespace tally::digest
