// SPDX-License-Identifier: Apache-2.0
// Defines the frames that a file of records consists of: a header, and the rows of consecutive
// samples, column after column.
//
// The header is 40 bytes, all little-endian: "tallyrec", first sample, number of samples and bytes
// behind the header (int64 each), the CRC-32 of these bytes, and the CRC-32 of the header before
// it. Behind it come the columns of the log, then those of the retained log: of a ragged one the
// lengths of its rows (int64 each), then the bytes of the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/plan/batch_grid.hpp>

namespace tally::resume {

inline constexpr std::int64_t kFrameHeaderBytes = 40;

struct Frame {
  plan::SampleRange samples;  // at least one
  std::int64_t offset = 0;    // in the file, of what is behind the header
  std::int64_t bytes = 0;     // behind the header
  std::uint32_t crc = 0;      // of these
};

// frame: room for the header, and what is behind it. Writes the header.
void fill_in_header(plan::SampleRange samples, std::span<std::byte> frame);

// The frames in the first `num_bytes` bytes of a file, by their headers alone; none unless they
// fill these exactly.
std::optional<std::vector<Frame>> read_frame_headers(int descriptor, std::int64_t num_bytes);

// Whether what is behind the header has its checksum. Read in pieces of bounded size.
bool is_whole(int descriptor, const Frame& frame);

}  // namespace tally::resume
