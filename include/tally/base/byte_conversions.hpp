// SPDX-License-Identifier: Apache-2.0
// Views bytes as text and text as bytes, and reads little-endian integers from bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace tally {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The caller has checked that sizeof(T) bytes are there.
template <class T>
T read_little_endian(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace tally
