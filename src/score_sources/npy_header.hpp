// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file, as numpy.lib.format (NEP 1) defines it; read without trust.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <tally/base/tensor_view.hpp>

namespace tally::app {

// So many bytes from the begin of a file hold every header that is accepted: numpy reads no longer
// ones either.
inline constexpr std::int64_t kLongestNpyHeader = 12 + 10'000;

// Whether the bytes begin with the signature of a .npy file.
bool has_npy_signature(std::string_view bytes);

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;                   // at least one dimension; the array is row-major
  std::int64_t data_offset = 0;  // where its first element lies
};

// Why an array cannot be scored: the end of a sentence that begins with the file's name, and what
// to do.
struct NpyRefusal {
  std::string problem, next_step;
};

// `begin`: the first kLongestNpyHeader bytes of a file, or all of a shorter one. Accepts the
// versions 1.0, 2.0 and 3.0, little-endian float32 and float64, and those integers that have a
// DType, of which the file holds as many as the shape says.
std::variant<NpyHeader, NpyRefusal> parse_npy_header(std::string_view begin,
                                                     std::int64_t file_bytes);

}  // namespace tally::app
