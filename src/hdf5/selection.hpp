// Row ranges as HDF5 selections.
#pragma once

#include <cstdint>
#include <optional>

#include <tally/base/tensor_view.hpp>

#include "handles.hpp"

namespace tally::hdf5 {

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
