// SPDX-License-Identifier: Apache-2.0
#include "record_frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/files.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::resume {
namespace {

// Written as they lie in memory.
struct FrameHeader {
  std::array<char, 8> magic{};
  std::int64_t first_sample = 0;
  std::int64_t num_samples = 0;
  std::int64_t bytes = 0;
  std::uint32_t crc = 0;
  std::uint32_t header_crc = 0;
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

constexpr std::string_view kFrameMagic = "tallyrec";
constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 20;

std::uint32_t crc_of_header(const FrameHeader& header) {
  return digest::crc32(0, std::as_bytes(std::span(&header, 1)).first(sizeof header - 4));
}

bool is_possible(const FrameHeader& header, std::int64_t bytes_left) {
  return std::ranges::equal(header.magic, kFrameMagic) &&
         header.header_crc == crc_of_header(header) && header.first_sample >= 0 &&
         header.num_samples >= 1 &&
         header.num_samples <= std::numeric_limits<std::int64_t>::max() - header.first_sample &&
         header.bytes >= 0 && header.bytes <= bytes_left;
}

}  // namespace

void fill_in_header(plan::SampleRange samples, std::span<std::byte> frame) {
  const auto behind = frame.subspan(to_size(kFrameHeaderBytes));
  FrameHeader header{.first_sample = samples.first,
                     .num_samples = samples.count,
                     .bytes = std::ssize(behind),
                     .crc = digest::crc32(0, behind)};
  std::ranges::copy(kFrameMagic, header.magic.begin());
  header.header_crc = crc_of_header(header);
  std::memcpy(frame.data(), &header, sizeof header);
}

std::optional<std::vector<Frame>> read_frame_headers(int descriptor, std::int64_t num_bytes) {
  std::vector<Frame> frames;
  std::int64_t offset = 0;
  while (offset < num_bytes) {
    FrameHeader header;
    if (num_bytes - offset < kFrameHeaderBytes) return std::nullopt;
    const auto bytes = std::as_writable_bytes(std::span(&header, 1));
    if (!read_at(descriptor, offset, bytes).empty()) return std::nullopt;
    offset += kFrameHeaderBytes;
    if (!is_possible(header, num_bytes - offset)) return std::nullopt;
    frames.push_back({{header.first_sample, header.num_samples}, offset, header.bytes, header.crc});
    offset += header.bytes;
  }
  return frames;
}

bool is_whole(int descriptor, const Frame& frame) {
  std::vector<std::byte> piece(to_size(std::min(frame.bytes, kBytesAtOnce)));
  std::uint32_t crc = 0;
  for (std::int64_t done = 0; done < frame.bytes; done += std::ssize(piece)) {
    piece.resize(to_size(std::min(frame.bytes - done, kBytesAtOnce)));
    if (!read_at(descriptor, frame.offset + done, piece).empty()) return false;
    crc = digest::crc32(crc, piece);
  }
  return crc == frame.crc;
}

}  // namespace tally::resume
