// The HDF5 library as one process-wide thing: its lock, its settings, its errors.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>

namespace tally::hdf5 {

// Every call into HDF5 is made under this lock: the library may be built without thread safety. The
// first call switches plugins off, the first of each thread switches HDF5's own messages off.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_library();

// The innermost description on HDF5's error stack. Ask before the next HDF5 call clears it.
std::string innermost_error();

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

// `result` of an HDF5 call unless it is negative; then "… cannot be <action> (HDF5: <reason>)".
template <class Result>
Result check(Result result, const Subject& subject, std::string_view object,
             std::string_view action) {
  if (result < 0) {
    const std::string reason = innermost_error();
    fail(subject, object, std::string("cannot be ").append(action) + " (HDF5: " + reason + ")");
  }
  return result;
}

}  // namespace tally::hdf5
