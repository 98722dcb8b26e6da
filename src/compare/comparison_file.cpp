// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/comparison_file.hpp>

#include <fstream>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/folder_access.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::compare {
namespace {

namespace fs = std::filesystem;

// Its first key holds the versions, the schema's among them, which no other file of ours has.
bool is_comparison(const fs::path& file) {
  constexpr std::size_t kLooked = 512;
  std::string begin(kLooked, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(begin.data(), std::ssize(begin));
  begin.resize(to_size(stream.gcount()));
  return begin.starts_with("{") && begin.find("\"compare_schema\"") != std::string::npos;
}

}  // namespace

void check_comparison_path(const fs::path& path, bool overwrite) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto refuse = [&](std::string_view why, std::string_view next_step) {
    throw Error(ErrorKind::output, format("--json '{}' {}", printable(path.string()), why),
                next_step);
  };
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    refuse("cannot be written (its folder does not exist)", "Create the folder.");
  }
  if (const auto why = why_not_writable(folder); !why.empty()) {
    refuse(format("cannot be written ({})", why), "Name a file in a folder that is writable.");
  }
  if (!is_there(path)) return;
  // Opening a pipe would wait, and a link would be replaced, not followed.
  const bool is_file = fs::symlink_status(path, ignored).type() == fs::file_type::regular;
  if (!is_file) refuse("is no regular file", "Name another file.");
  if (!is_comparison(path)) refuse("is there and is no comparison", "Name another file.");
  if (!overwrite) {
    refuse("is there already", "Name another file, or replace it with --overwrite.");
  }
}

void write_comparison(const fs::path& path, std::string_view json, bool overwrite) {
  PartialFile file(path);
  file.append(json);
  overwrite ? file.publish() : file.publish_new();
}

}  // namespace tally::compare
