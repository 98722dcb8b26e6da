// SPDX-License-Identifier: Apache-2.0
// The attributes that make an input an image.
#pragma once

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

namespace tally::data {

// /inputs/image of uint8 is one; any other input if it carries `layout`.
bool is_image(const hdf5::Reader& file, const ColumnInfo& column);

// All attributes, checked against each other and against [H, W, C]. Throws Error(dataset).
ImageAttributes read_image_attributes(const hdf5::Reader& file, const ColumnInfo& column);

}  // namespace tally::data
