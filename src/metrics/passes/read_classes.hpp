// SPDX-License-Identifier: Apache-2.0
// Reads classes that are stored as integers of any type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/tensor_view.hpp>

namespace tally::metrics {

// Fills `out` with the first classes of a view, with -1 where they are `none`. refuse(i, value)
// throws for what is no class.
template <class T, class Refuse>
void read_classes(const TensorView& view, std::int64_t num_classes,
                  std::optional<std::int64_t> none, const Refuse& refuse,
                  std::span<std::int32_t> out) {
  const T* const values = view.as<const T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = static_cast<std::int64_t>(values[i]);
    const bool is_none = value == none;
    if (!is_none && (value < 0 || value >= num_classes)) refuse(i, value);
    out[i] = is_none ? -1 : static_cast<std::int32_t>(value);
  }
}

// The same of a contiguous view of uint8, int16, int32 or int64 on the CPU; Error(internal) for
// other types.
template <class Refuse>
void read_any_classes(const TensorView& view, std::int64_t num_classes,
                      std::optional<std::int64_t> none, const Refuse& refuse,
                      std::span<std::int32_t> out) {
  switch (view.dtype) {
    case DType::u8:
      return read_classes<std::uint8_t>(view, num_classes, none, refuse, out);
    case DType::i16:
      return read_classes<std::int16_t>(view, num_classes, none, refuse, out);
    case DType::i32:
      return read_classes<std::int32_t>(view, num_classes, none, refuse, out);
    case DType::i64:
      return read_classes<std::int64_t>(view, num_classes, none, refuse, out);
    default:
      throw Error(ErrorKind::internal, format("classes are {}", name(view.dtype)));
  }
}

}  // namespace tally::metrics
