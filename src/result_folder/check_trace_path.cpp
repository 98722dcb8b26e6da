// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/check_trace_path.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/folder_access.hpp>
#include <tally/base/format.hpp>
#include <tally/trace/trace_file.hpp>

#include "replacement.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_trace_error(const fs::path& trace, std::string_view why,
                                    std::string_view next_step) {
  throw Error(ErrorKind::output, format("trace '{}' {}", trace.string(), why), next_step);
}

// Accepts nothing, or a regular file: opening a pipe would wait, and a link would be replaced, not
// followed.
void check_type(const fs::path& trace) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(trace, ignored).type();
  if (type == fs::file_type::not_found || type == fs::file_type::regular) return;
  if (type == fs::file_type::directory) {
    throw_trace_error(trace, "is a folder", "Name a file in it with --trace.");
  }
  // What cannot be looked at has no folder that could be used; this is refused below.
  if (type != fs::file_type::none)
    throw_trace_error(trace, "is no regular file", "Name another file.");
}

// Gives "out", "./out" and "out/" one form.
fs::path plain(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_or_holds(const fs::path& folder, const fs::path& path) {
  // The elements of paths are compared, so that "out" does not hold "output".
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

}  // namespace

bool is_trace(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;  // a pipe would block
  std::string start(trace::kTraceBegins.size(), '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), std::ssize(start));
  return start == trace::kTraceBegins;
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  return plain(file).parent_path() == plain(folder);
}

void check_trace_path(const fs::path& trace, const fs::path& output, bool overwrite) {
  std::error_code ignored;
  check_type(trace);
  if (fs::exists(trace, ignored)) {
    if (!is_trace(trace))
      throw_trace_error(trace, "is there and is no trace", "Name another file.");
    if (!overwrite) {
      throw_trace_error(trace, "is there already",
                        "Name another file, or replace it with --overwrite.");
    }
  }
  if (!trace.lexically_normal().has_filename()) {
    throw_trace_error(trace, "is a folder", "Name a file in it with --trace.");
  }
  if (is_or_holds(plain(trace), plain(output))) {
    throw_trace_error(trace, "is the output folder or one above it", "Name a file with --trace.");
  }
  const fs::path folder = plain(trace).parent_path();
  if (lies_in(trace, output)) {
    // The run creates its output folder, so that nothing is asked of it here.
    const std::string name = trace.filename();
    if (name == kEventsFile || std::ranges::find(kResultFiles, name) != kResultFiles.end()) {
      throw_trace_error(trace, "is another file of the result", "Name another file.");
    }
    return;
  }
  if (!fs::is_directory(folder, ignored)) {
    throw_trace_error(trace, "cannot be written (its folder does not exist)", "Create the folder.");
  }
  if (const auto why = why_not_writable(folder); !why.empty()) {
    throw_trace_error(trace, format("cannot be written ({})", why),
                      "Name a file in a folder that is writable.");
  }
}

}  // namespace tally::app
