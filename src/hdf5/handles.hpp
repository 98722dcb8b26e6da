// Owners of HDF5's identifiers.
#pragma once

#include <tally/base/unique_handle.hpp>

#include "library.hpp"

namespace tally::hdf5 {

template <herr_t (*Close)(hid_t)>
struct IdTraits {
  using Handle = hid_t;
  static Handle invalid() noexcept { return -1; }
  static void close(Handle id) noexcept {
    const auto lock = lock_library();
    Close(id);
  }
};

using File = UniqueHandle<IdTraits<H5Fclose>>;
using Object = UniqueHandle<IdTraits<H5Oclose>>;
using DatasetId = UniqueHandle<IdTraits<H5Dclose>>;
using Attribute = UniqueHandle<IdTraits<H5Aclose>>;
using Space = UniqueHandle<IdTraits<H5Sclose>>;
using Type = UniqueHandle<IdTraits<H5Tclose>>;
using Properties = UniqueHandle<IdTraits<H5Pclose>>;

}  // namespace tally::hdf5
