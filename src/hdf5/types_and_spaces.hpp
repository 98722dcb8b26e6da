// SPDX-License-Identifier: Apache-2.0
// HDF5's types and our elements, its spaces and our shapes and ranges of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <tally/base/tensor_view.hpp>
#include <tally/hdf5/element.hpp>

#include "library.hpp"

namespace tally::hdf5 {

// The type of `element` in files and in memory; borrowed, not for text.
hid_t type_id(Element element);
// Strings in UTF-8 of `size` bytes, 1 or more, filled up with NUL, or H5T_VARIABLE.
Type text_type(std::size_t size);
// None for what is not read: big-endian, compound, enumerated … types.
std::optional<Element> element_of_type(hid_t type);
// For messages: "big-endian int32", "compound", "float16" …
std::string describe_type(hid_t type);

// Row ranges as HDF5 selections.
struct Selection {
  Space file;    // rows of the dataset
  Space memory;  // as many elements, one after the other
};

// Rows [first, first + count) of a dataset of `shape`; a scalar counts as one row.
Selection select_rows(const Shape& shape, std::int64_t first, std::int64_t count);

// The extent `shape`; {} is a scalar.
Space make_space(const Shape& shape);

// The extent of `space`; none where it has none (H5S_NULL).
std::optional<Shape> shape_of(hid_t space);

}  // namespace tally::hdf5
