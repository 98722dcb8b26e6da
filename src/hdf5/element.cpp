// SPDX-License-Identifier: Apache-2.0
#include <tally/hdf5/element.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::hdf5 {

std::int64_t size_bytes(Element element) {
  switch (element) {
    case Element::u8:
    case Element::i8:
      return 1;
    case Element::u16:
    case Element::i16:
      return 2;
    case Element::u32:
    case Element::i32:
    case Element::f32:
      return 4;
    case Element::u64:
    case Element::i64:
    case Element::f64:
      return 8;
    case Element::text:
      break;
  }
  return 0;
}

std::string_view name(Element element) {
  switch (element) {
    case Element::u8:
      return "uint8";
    case Element::i8:
      return "int8";
    case Element::u16:
      return "uint16";
    case Element::i16:
      return "int16";
    case Element::u32:
      return "uint32";
    case Element::i32:
      return "int32";
    case Element::u64:
      return "uint64";
    case Element::i64:
      return "int64";
    case Element::f32:
      return "float32";
    case Element::f64:
      return "float64";
    case Element::text:
      break;
  }
  return "string";
}

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return Element::u8;
    case DType::i8:
      return Element::i8;
    case DType::i16:
      return Element::i16;
    case DType::i32:
      return Element::i32;
    case DType::i64:
      return Element::i64;
    case DType::f32:
      return Element::f32;
    case DType::f64:
      return Element::f64;
    case DType::f16:
    case DType::bf16:
      break;
  }
  throw Error(ErrorKind::internal, format("{} is not stored in HDF5 files", tally::name(dtype)));
}

DType dtype_of(Element element) {
  switch (element) {
    case Element::u8:
      return DType::u8;
    case Element::i8:
      return DType::i8;
    case Element::i16:
      return DType::i16;
    case Element::i32:
      return DType::i32;
    case Element::i64:
      return DType::i64;
    case Element::f32:
      return DType::f32;
    case Element::f64:
      return DType::f64;
    case Element::u16:
    case Element::u32:
    case Element::u64:
    case Element::text:
      break;
  }
  throw Error(ErrorKind::internal, format("{} is no tensor element type", name(element)));
}

}  // namespace tally::hdf5
