// SPDX-License-Identifier: Apache-2.0
#include "reading/chunk_decoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/digest/inflate.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

namespace tally::data {
namespace {

// The filter fletcher32 appends its checksum to the chunk.
constexpr std::size_t kSumBytes = 4;

bool is_left_out(std::uint32_t left_out, std::size_t filter) {
  return (left_out >> filter & 1U) != 0;
}

template <std::size_t kBytes>
void unshuffle_elements(const std::byte* from, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < kBytes; ++b) out[i * kBytes + b] = from[b * count + i];
  }
}

// HDF5's filter shuffle stores the first bytes of all elements, then the second ones, and so on;
// bytes behind the last whole element follow as they are. Usual sizes are template arguments, which
// gives the inner loop a constant length.
void unshuffle(std::span<const std::byte> from, std::size_t element_bytes, std::byte* out) {
  const std::size_t count = from.size() / element_bytes;
  switch (element_bytes) {
    case 1:
      unshuffle_elements<1>(from.data(), count, out);
      break;
    case 2:
      unshuffle_elements<2>(from.data(), count, out);
      break;
    case 4:
      unshuffle_elements<4>(from.data(), count, out);
      break;
    case 8:
      unshuffle_elements<8>(from.data(), count, out);
      break;
    default:
      for (std::size_t i = 0; i < count * element_bytes; ++i) {
        out[i] = from[i % element_bytes * count + i / element_bytes];
      }
  }
  std::ranges::copy(from.subspan(count * element_bytes), out + count * element_bytes);
}

// The sum is accepted in the order of the stored bytes, and in that which HDF5 before 1.6.3 wrote
// on little-endian machines, which HDF5 accepts, too.
bool matches(std::uint32_t sum, std::span<const std::byte> stored) {
  std::uint32_t expected = 0;
  std::memcpy(&expected, stored.data(), kSumBytes);
  const std::uint32_t swapped = (sum & 0x00ff'00ffU) << 8U | (sum & 0xff00'ff00U) >> 8U;
  return sum == expected || swapped == expected;
}

}  // namespace

bool ChunkDecoder::knows(const hdf5::DatasetInfo& info) {
  // What is not known here is read by HDF5, which is slower but right (docs/decisions/017).
  const auto once = [&](const char* name) { return std::ranges::count(info.filters, name) <= 1; };
  const bool shuffled = std::ranges::count(info.filters, "shuffle") > 0;
  return info.storage == hdf5::Storage::chunked && !info.chunk_shape.empty() &&
         info.edges_filtered && once("deflate") && once("shuffle") && once("fletcher32") &&
         (!shuffled || info.shuffled_bytes > 0);
}

ChunkDecoder::ChunkDecoder(const hdf5::DatasetInfo& info)
    : shuffled_bytes_(to_size(info.shuffled_bytes)) {
  for (const std::string& name : info.filters) {
    filters_.push_back(name == "deflate"   ? Filter::deflate
                       : name == "shuffle" ? Filter::shuffle
                                           : Filter::fletcher32);
  }
}

struct ChunkDecoder::Pass {
  std::span<const std::byte> rest;
  std::span<std::byte> out;
  std::array<std::vector<std::byte>, 2>& scratch;
  std::string problem = {};

  // Returns where a filter's output goes: straight to its place where no filter is left, else to
  // the buffer that does not hold the input. Buffers only grow.
  std::span<std::byte> target(std::size_t bytes, bool is_last) {
    if (is_last && bytes == out.size()) return out;
    auto& buffer = rest.data() == scratch[0].data() ? scratch[1] : scratch[0];
    if (buffer.size() < bytes) buffer.resize(bytes);
    return std::span(buffer).first(bytes);
  }
};

void ChunkDecoder::undo(std::size_t filter, std::uint32_t left_out, Pass& pass) const {
  bool is_last = true;
  // How many bytes the filter was given when it was applied: those of the elements, and a checksum
  // for each fletcher32 before it. Deflate alone needs it, and occurs once.
  std::size_t bytes = pass.out.size();
  for (std::size_t before = 0; before < filter; ++before) {
    if (is_left_out(left_out, before)) continue;
    is_last = false;
    if (filters_[before] == Filter::fletcher32) bytes += kSumBytes;
  }
  switch (filters_[filter]) {
    case Filter::fletcher32: {
      if (pass.rest.size() < kSumBytes) {
        pass.problem = "is too short for its checksum";
        return;
      }
      const auto content = pass.rest.first(pass.rest.size() - kSumBytes);
      if (!matches(digest::fletcher32(content), pass.rest.last(kSumBytes))) {
        pass.problem = "does not match its Fletcher-32 checksum";
      }
      pass.rest = content;
      return;
    }
    case Filter::deflate: {
      const auto target = pass.target(bytes, is_last);
      // A stream of any other length is damaged: this bounds what a hostile chunk can write.
      if (!digest::inflate_zlib(pass.rest, target)) {
        pass.problem = format("does not inflate to {} bytes", bytes);
      }
      pass.rest = target;
      return;
    }
    case Filter::shuffle: {
      const auto target = pass.target(pass.rest.size(), is_last);
      unshuffle(pass.rest, shuffled_bytes_, target.data());
      pass.rest = target;
    }
  }
}

std::string ChunkDecoder::decode(std::span<const std::byte> stored, std::uint32_t left_out,
                                 std::span<std::byte> out) const {
  // Each thread keeps its buffers, so that chunks are decoded without allocations.
  thread_local std::array<std::vector<std::byte>, 2> scratch;
  Pass pass{stored, out, scratch};
  for (std::size_t filter = filters_.size(); filter-- > 0 && pass.problem.empty();) {
    if (!is_left_out(left_out, filter)) undo(filter, left_out, pass);
  }
  if (pass.problem.empty() && pass.rest.size() != out.size()) {
    pass.problem = format("holds {} bytes, expected {}", pass.rest.size(), out.size());
  }
  // Where no filter moved the bytes to their place, as with fletcher32 alone, they are copied.
  if (pass.problem.empty() && pass.rest.data() != out.data()) {
    std::ranges::copy(pass.rest, out.begin());
  }
  return pass.problem;
}

}  // namespace tally::data
