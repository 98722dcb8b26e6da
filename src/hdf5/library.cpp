// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <string_view>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/hdf5/library.hpp>

namespace tally::hdf5 {
namespace {

// Returns the system's own words, where a driver's description holds them among the addresses of
// buffers; else the description as it is.
std::string shortened(const std::string& description) {
  constexpr std::string_view kMark = "error message = '";
  const auto begin = description.find(kMark);
  if (begin == std::string::npos) return description;
  const auto end = description.find('\'', begin + kMark.size());
  if (end == std::string::npos) return description;
  return description.substr(begin + kMark.size(), end - begin - kMark.size());
}

bool memory_was_short = false;  // guarded by the library's lock

// H5Ewalk2() calls this for each entry of the error stack, the innermost first; 1 ends the walk.
herr_t first_description(unsigned, const H5E_error2_t* error, void* text) {
  if (error->maj_num == H5E_RESOURCE && error->min_num == H5E_NOSPACE) memory_was_short = true;
  if (error->desc == nullptr || *error->desc == '\0') return 0;
  *static_cast<std::string*>(text) = error->desc;
  return 1;
}

bool set_up_library() {
  // At exit HDF5 1.10 touches files whose closing failed, and crashes: the exit code would be lost.
  // Nothing needs that pass, every handle here has an owner. It fails where HDF5 was in use before.
  H5dont_atexit();
  // A filter's number in a file must never load a shared object.
  return H5open() >= 0 && H5PLset_loading_state(0) >= 0;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock_library() {
  // The mutex is recursive because handles lock it when they are closed, often while it is held.
  static std::recursive_mutex mutex;
  std::unique_lock lock(mutex);
  static const bool ready = set_up_library();
  if (!ready) throw Error(ErrorKind::environment, "the HDF5 library cannot be initialised");
  // A build with thread safety has an error stack for each thread, and prints it unless that is
  // switched off there. Failures are reported by our exceptions alone.
  thread_local const bool silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(silent);
  return lock;
}

std::string innermost_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_description, &text);
  // Names in it come from the file.
  return text.empty() ? "no reason given" : printable(shortened(text));
}

bool lacked_memory() { return memory_was_short; }

namespace {

std::string sentence(const Subject& subject, std::string_view object, std::string_view problem) {
  const std::string where = object.empty() ? "" : ", " + printable(object);
  return format("{} '{}'{} {}", subject.what, subject.path.string(), where, problem);
}

}  // namespace

void fail(const Subject& subject, std::string_view object, std::string_view problem,
          std::string_view next_step) {
  throw Error(subject.kind, sentence(subject, object, problem), next_step);
}

void fail_call(const Subject& subject, std::string_view object, std::string_view action) {
  const std::string problem = format("cannot be {} (HDF5: {})", action, innermost_error());
  const bool is_written = subject.kind == ErrorKind::output;
  throw CallFailed(subject.kind, sentence(subject, object, problem),
                   is_written ? "Check the folder's permissions and free space." : "");
}

std::string library_version() {
  const auto lock = lock_library();
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return format("{}.{}.{}", major, minor, release);
}

bool is_hdf5_file(const std::filesystem::path& path) {
  // A path that cannot be examined is no HDF5 file for callers, who then try other formats or say
  // that it cannot be read.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const auto lock = lock_library();
  return H5Fis_hdf5(path.c_str()) > 0;
}

}  // namespace tally::hdf5
