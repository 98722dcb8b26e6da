// SPDX-License-Identifier: Apache-2.0
// The directory of a zip archive, for what LibTorch's reader of archives does not say of an entry.
#pragma once

#include <cstdint>
#include <optional>

#include <tally/weights/zip_archive.hpp>

namespace tally::weights {

// Where the record at the end of an archive begins; none where it is missing or cut short.
std::optional<std::uint64_t> find_zip_end(const ByteSource& bytes);

// Throws FormatError where it is no directory of as many entries as the archive's end says, or does
// not reach up to that end.
ZipDirectory read_zip_directory(const ByteSource& bytes);

}  // namespace tally::weights
