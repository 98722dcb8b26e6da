// SPDX-License-Identifier: Apache-2.0
// The HDF5 library as one process-wide thing: its lock, its settings, its errors, and owners of its
// identifiers.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/unique_handle.hpp>

namespace tally::hdf5 {

// Every call into HDF5 is made under this lock: the library may be built without thread safety. The
// first call switches plugins off, the first of each thread switches HDF5's own messages off.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_library();

// The innermost description on HDF5's error stack. Ask before the next HDF5 call clears it.
std::string innermost_error();
// Whether one that was asked for, in all the life of the process, was want of memory.
bool lacked_memory();

// Which file messages are about.
struct Subject {
  ErrorKind kind;
  std::string what;
  std::filesystem::path path;
  std::string_view next_step = {};  // about what is there but is not as expected; may be empty
};

// "<what> '<path>', <object> <problem>"; without ", <object>" where that is empty.
[[noreturn]] void fail(const Subject& subject, std::string_view object, std::string_view problem,
                       std::string_view next_step = {});

// HDF5 itself failed, where other errors are about what it found.
struct CallFailed : Error {
  using Error::Error;
};

// Throws CallFailed: "… cannot be <action> (HDF5: <reason>)".
[[noreturn]] void fail_call(const Subject& subject, std::string_view object,
                            std::string_view action);

// `result` of an HDF5 call unless it is negative, which is CallFailed.
template <class Result>
Result check(Result result, const Subject& subject, std::string_view object,
             std::string_view action) {
  if (result < 0) fail_call(subject, object, action);
  return result;
}

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
