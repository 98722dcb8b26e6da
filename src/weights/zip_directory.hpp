// The directory of a zip archive, for what LibTorch's reader of archives does not say of an entry.
#pragma once

#include <tally/weights/archive.hpp>

namespace tally::weights {

// Throws FormatError where it is no directory of as many entries as the archive's end says, or does
// not reach up to that end.
ZipDirectory read_zip_directory(const ByteSource& bytes);

}  // namespace tally::weights
