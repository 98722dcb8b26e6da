// SPDX-License-Identifier: Apache-2.0
#include "types_and_spaces.hpp"

#include <bit>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

namespace tally::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are handed out as stored");

// These are all elements but text, in the order of Element.
constexpr Element kNumbers[] = {Element::u8,  Element::i8,  Element::u16, Element::i16,
                                Element::u32, Element::i32, Element::u64, Element::i64,
                                Element::f32, Element::f64};

std::string describe_number(hid_t type, std::string_view stem) {
  const char* order = H5Tget_order(type) == H5T_ORDER_BE ? "big-endian " : "";
  const std::size_t bits = 8 * H5Tget_size(type);
  // A type may use fewer bits than it has, such as 12 bits in two bytes; such values are not read.
  const bool padded = H5Tget_precision(type) != bits;
  return format("{}{}{}{}", order, stem, bits, padded ? " with unused bits" : "");
}

}  // namespace

hid_t type_id(Element element) {
  switch (element) {
    case Element::u8:
      return H5T_STD_U8LE;
    case Element::i8:
      return H5T_STD_I8LE;
    case Element::u16:
      return H5T_STD_U16LE;
    case Element::i16:
      return H5T_STD_I16LE;
    case Element::u32:
      return H5T_STD_U32LE;
    case Element::i32:
      return H5T_STD_I32LE;
    case Element::u64:
      return H5T_STD_U64LE;
    case Element::i64:
      return H5T_STD_I64LE;
    case Element::f32:
      return H5T_IEEE_F32LE;
    case Element::f64:
      return H5T_IEEE_F64LE;
    case Element::text:
      break;
  }
  throw Error(ErrorKind::internal, "text has no fixed HDF5 type");
}

// NUL fills the text up and does not end it, so that a text may take all of `size` bytes.
Type text_type(std::size_t size) {
  Type type(H5Tcopy(H5T_C_S1));
  if (!type || H5Tset_size(type.get(), size) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0) {
    throw Error(ErrorKind::internal, "HDF5 cannot make a string type");
  }
  return type;
}

std::optional<Element> element_of_type(hid_t type) {
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class == H5T_STRING) return Element::text;
  if (type_class == H5T_INTEGER && H5Tget_size(type) == 1 && H5Tget_precision(type) == 8) {
    // A single byte has no order, so types that call it big-endian are taken, too.
    return H5Tget_sign(type) == H5T_SGN_NONE ? Element::u8 : Element::i8;
  }
  for (const Element element : kNumbers) {
    if (H5Tequal(type, type_id(element)) > 0) return element;
  }
  return std::nullopt;
}

std::string describe_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return describe_number(type, H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int");
    case H5T_FLOAT:
      return describe_number(type, "float");
    case H5T_STRING:
      return "string";
    case H5T_TIME:
      return "time";
    case H5T_BITFIELD:
      return "bitfield";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_COMPOUND:
      return "compound";
    case H5T_REFERENCE:
      return "reference";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN:
      return "variable-length";
    case H5T_ARRAY:
      return "array";
    default:
      return "unknown";
  }
}

namespace {

Error no_space() { return {ErrorKind::internal, "HDF5 cannot make a row selection"}; }

}  // namespace

Space make_space(const Shape& shape) {
  std::vector<hsize_t> sizes;
  for (const std::int64_t size : shape) sizes.push_back(checked_cast<hsize_t>(size));
  Space space(shape.empty()
                  ? H5Screate(H5S_SCALAR)
                  : H5Screate_simple(checked_cast<int>(sizes.size()), sizes.data(), nullptr));
  if (!space) throw no_space();
  return space;
}

std::optional<Shape> shape_of(hid_t space) {
  // A space without extent has no dimensions, as a scalar has none, so its class must be asked for.
  hsize_t sizes[H5S_MAX_RANK];
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  const int rank = H5Sget_simple_extent_dims(space, sizes, nullptr);
  if (kind == H5S_NULL || kind == H5S_NO_CLASS || rank < 0) return std::nullopt;
  Shape shape;
  for (std::size_t d = 0; d < to_size(rank); ++d) {
    shape.push_back(checked_cast<std::int64_t>(sizes[d]));
  }
  return shape;
}

Selection select_rows(const Shape& shape, std::int64_t first, std::int64_t count) {
  Selection selection{make_space(shape), Space()};
  // A scalar has no rows that a hyperslab could select: all of it is read.
  if (shape.empty()) {
    selection.memory = make_space({1});
    return selection;
  }
  std::vector<hsize_t> start(shape.size(), 0);
  std::vector<hsize_t> sizes;
  for (const std::int64_t size : shape) sizes.push_back(checked_cast<hsize_t>(size));
  start[0] = checked_cast<hsize_t>(first);
  sizes[0] = checked_cast<hsize_t>(count);
  if (H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, start.data(), nullptr, sizes.data(),
                          nullptr) < 0) {
    throw no_space();
  }
  Shape rows = shape;
  rows[0] = count;
  // The memory has the same shape as the rows, because HDF5 maps chunks to another shape element by
  // element.
  selection.memory = make_space(rows);
  return selection;
}

}  // namespace tally::hdf5
