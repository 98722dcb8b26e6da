// What an open dataset keeps; shared by the reader, which opens it, and the dataset itself.
#pragma once

#include <tally/hdf5/reader.hpp>

#include "handles.hpp"

namespace tally::hdf5 {

struct Dataset::Body {
  Subject subject;
  DatasetInfo info;
  DatasetId id;
  std::int64_t file_bytes = 0;
};

}  // namespace tally::hdf5
