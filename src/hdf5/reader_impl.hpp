// SPDX-License-Identifier: Apache-2.0
// What an open file keeps.
#pragma once

#include <memory>

#include <tally/base/file_stamp.hpp>
#include <tally/base/files.hpp>
#include <tally/hdf5/reader.hpp>

#include "attributes.hpp"
#include "library.hpp"

namespace tally::hdf5 {

struct Reader::Impl {
  Subject subject;
  std::int64_t file_bytes = 0;
  File file;
  std::shared_ptr<const UniqueDescriptor> descriptor;
  FileStamp opened;

  AttributeView attribute(const Object& object, std::string_view path,
                          std::string_view name) const {
    return {object.get(), subject, path, name};
  }
};

}  // namespace tally::hdf5
