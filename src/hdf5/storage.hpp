// SPDX-License-Identifier: Apache-2.0
// Where a dataset's bytes lie, and whether they may and can be there.
#pragma once

#include <cstdint>
#include <string_view>

#include <tally/hdf5/reader.hpp>

#include "library.hpp"

namespace tally::hdf5 {

// Refuses virtual layout, external files and unknown filters. Does not touch the extent: asking a
// virtual dataset for it opens other files.
void refuse_foreign_storage(hid_t dataset, const Subject& subject, std::string_view path);

// Everything about an open dataset, checked: storage, element type, extent, and that the file of
// `file_bytes` can hold what is declared.
DatasetInfo examine(hid_t dataset, const Subject& subject, std::string_view path,
                    std::int64_t file_bytes);

}  // namespace tally::hdf5
