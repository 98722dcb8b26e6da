// HDF5's types and our elements.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tally/hdf5/element.hpp>

#include "handles.hpp"

namespace tally::hdf5 {

// The type of `element` in files and in memory; borrowed, not for text.
hid_t type_id(Element element);
// Strings in UTF-8 of `size` bytes, 1 or more, filled up with NUL, or H5T_VARIABLE.
Type text_type(std::size_t size);
// None for what is not read: big-endian, compound, enumerated … types.
std::optional<Element> element_of_type(hid_t type);
// For messages: "big-endian int32", "compound", "float16" …
std::string describe_type(hid_t type);

}  // namespace tally::hdf5
