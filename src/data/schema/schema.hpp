// SPDX-License-Identifier: Apache-2.0
// A file's root and columns, read and checked against SCHEMA.md.
#pragma once

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>

namespace tally::data {

inline constexpr std::int64_t kSchema = 1;
inline constexpr std::string_view kChecksums = "/checksums";

// All of DataSetInfo. Throws Error(dataset).
DataSetInfo read_schema(const hdf5::Reader& file, Targets targets = Targets::read);

}  // namespace tally::data
