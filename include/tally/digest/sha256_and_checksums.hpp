// SPDX-License-Identifier: Apache-2.0
// Computes digests and checksums of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::digest {

// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // 64 lower-case hexadecimal digits of all bytes so far; more may follow.
  std::string hex() const;

  // From now on the bytes are kept as well, as long as they are no more than these.
  void keep(std::int64_t most_bytes);
  // Those that came since keep(), and their number; none of them where they were too many.
  std::span<const std::byte> recorded() const { return recorded_; }
  std::int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Context;
  void record(std::span<const std::byte> bytes);

  std::unique_ptr<Context> context_;
  std::vector<std::byte> recorded_;
  std::int64_t most_bytes_ = 0;
  std::int64_t num_bytes_ = 0;  // since keep()
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

// CRC-32C (Castagnoli, as in iSCSI and ext4): of "123456789" it is 0xe3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes);

// CRC-32 as in zip and gzip, of bytes that come in pieces: `before` is that of the pieces before, 0
// at first. Of "123456789" it is 0xcbf43926.
std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes);

// Fletcher's checksum as HDF5's filter of that name has it: over big-endian words of 16 bits, a
// last single byte as the upper half of one.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace tally::digest
