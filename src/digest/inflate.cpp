// SPDX-License-Identifier: Apache-2.0
#include <isa-l/igzip_lib.h>

#include <limits>
#include <memory>

#include <tally/digest/inflate.hpp>

namespace tally::digest {

namespace {

bool inflate(std::span<const std::byte> stream, std::span<std::byte> out, std::uint32_t form) {
  // The library counts in 32 bits.
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (stream.size() > kMost || out.size() > kMost) return false;
  // 80 KiB of tables, too much for a small stack.
  thread_local const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = form;
  // The argument is not const though it is only read.
  auto* data = reinterpret_cast<const unsigned char*>(stream.data());
  state->next_in = const_cast<unsigned char*>(data);
  state->avail_in = static_cast<std::uint32_t>(stream.size());
  state->next_out = reinterpret_cast<unsigned char*>(out.data());
  state->avail_out = static_cast<std::uint32_t>(out.size());
  return isal_inflate_stateless(state.get()) == ISAL_DECOMP_OK && state->avail_out == 0;
}

}  // namespace

bool inflate_zlib(std::span<const std::byte> stream, std::span<std::byte> out) {
  return inflate(stream, out, ISAL_ZLIB);
}

bool inflate_raw(std::span<const std::byte> stream, std::span<std::byte> out) {
  return inflate(stream, out, ISAL_DEFLATE);
}

}  // namespace tally::digest
