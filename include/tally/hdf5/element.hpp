// SPDX-License-Identifier: Apache-2.0
// Names the types that the elements of an HDF5 dataset may have: little-endian standard types, or
// text.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tally/base/tensor_view.hpp>

namespace tally::hdf5 {

enum class Element { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, text };

// Of one element in memory; 0 for text.
std::int64_t size_bytes(Element element);
// "uint8", "float32", …, "string".
std::string_view name(Element element);

// Throws Error(internal) for float16 and bfloat16, which are not stored.
Element element_of(DType dtype);
// Throws Error(internal) for uint16, uint32, uint64 and text, which have no DType.
DType dtype_of(Element element);

// The element a C++ type is stored as.
template <class T>
consteval Element element_for() {
  if constexpr (std::is_same_v<T, float>) {
    return Element::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return Element::f64;
  } else {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>);
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? Element::i8 : Element::u8;
    if constexpr (sizeof(T) == 2) return kSigned ? Element::i16 : Element::u16;
    if constexpr (sizeof(T) == 4) return kSigned ? Element::i32 : Element::u32;
    if constexpr (sizeof(T) == 8) return kSigned ? Element::i64 : Element::u64;
  }
}

}  // namespace tally::hdf5
