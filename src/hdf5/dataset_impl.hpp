// SPDX-License-Identifier: Apache-2.0
// What an open dataset keeps; shared by the reader, which opens it, and the dataset itself.
#pragma once

#include <memory>

#include <tally/base/files.hpp>
#include <tally/hdf5/dataset.hpp>

#include "library.hpp"

namespace tally::hdf5 {

struct Dataset::Impl {
  Subject subject;
  DatasetInfo info;
  DatasetId id;
  std::int64_t file_bytes = 0;
  std::shared_ptr<const UniqueDescriptor> descriptor;  // of the same file

  // With the library's lock held.
  std::int64_t stored_bytes(std::int64_t chunk) const;
};

}  // namespace tally::hdf5
