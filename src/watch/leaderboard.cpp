// SPDX-License-Identifier: Apache-2.0
#include <tally/watch/leaderboard.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>

#include "leaderboard_text.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* call, const std::string& reason) {
  throw Error(ErrorKind::output,
              format("cannot write '{}' ({}: {})", printable(path.string()), call, reason),
              "Check the folder's permissions and free space.");
}

UniqueDescriptor open_for_writing(const fs::path& path) {
  // What an earlier run wrote goes on, hence no O_TRUNC. write_at() names the place, which O_APPEND
  // would override.
  UniqueDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) fail(path, "open", errno_text(errno));
  return file;
}

std::string text_of(const fs::path& path) {
  const auto bytes = read_file(path, ErrorKind::output, "leaderboard");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void sync(const UniqueDescriptor& file, const fs::path& path) {
  if (::fsync(file.get()) != 0) fail(path, "fsync", errno_text(errno));
}

void cut(const UniqueDescriptor& file, const fs::path& path, std::size_t num_bytes) {
  if (::ftruncate(file.get(), checked_cast<off_t>(num_bytes)) != 0) {
    fail(path, "ftruncate", errno_text(errno));
  }
  sync(file, path);
}

// Appends all of the line or none of it, and syncs it. Half a line, as a full disk leaves it, would
// damage the record for the next start.
void append_line(const UniqueDescriptor& file, const fs::path& path, const std::string& line) {
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  if (end < 0) fail(path, "lseek", errno_text(errno));
  const std::string problem = write_at(file.get(), end, std::as_bytes(std::span(line)));
  if (!problem.empty()) {
    cut(file, path, to_size(end));
    fail(path, "write", problem);
  }
  sync(file, path);
}

// What nlohmann's exceptions say behind their "[json.exception.parse_error.101] ".
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  return printable(text.starts_with("[json.") ? text.substr(text.find(' ') + 1) : text);
}

Entry entry_of_line(std::string_view line, const fs::path& path, std::size_t number) {
  try {
    return entry_of(line);
  } catch (const std::exception& error) {
    throw Error(ErrorKind::output,
                format("line {} of '{}' is no entry of a leaderboard ({})", number,
                       printable(path.string()), reason_of(error)),
                "Move the file away or name another folder with --output.");
  }
}

bool is_evaluated(const Entry& entry) { return entry.status == Status::evaluated; }

std::vector<std::string> columns_of(const Entry& entry) {
  std::vector<std::string> columns;
  for (const auto& [name, metric] : entry.metrics) columns.push_back(name);
  return columns;
}

}  // namespace

const Estimate* metric_of(const Entry& entry, std::string_view metric) {
  const auto named = [&](const auto& pair) { return pair.first == metric; };
  const auto found = std::ranges::find_if(entry.metrics, named);
  return found == entry.metrics.end() ? nullptr : &found->second;
}

Leaderboard::Leaderboard(const fs::path& folder)
    : record_path_(folder / "leaderboard.jsonl"),
      table_path_(folder / "leaderboard.csv"),
      record_(open_for_writing(record_path_)) {
  read();
  bring_table_up_to_date();
}

void Leaderboard::read() {
  const std::string text = text_of(record_path_);
  std::string_view rest = text;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    entries_.push_back(entry_of_line(rest.substr(0, end), record_path_, entries_.size() + 1));
    rest.remove_prefix(end + 1);
  }
  // A line without its break is one that a killed process left. It is cut off before the next entry
  // would be appended to it.
  if (rest.empty()) return;
  log::note(
      format("the last line of '{}' is incomplete and was dropped: its checkpoint counts as "
             "new",
             printable(record_path_.string())));
  cut(record_, record_path_, text.size() - rest.size());
}

void Leaderboard::bring_table_up_to_date() {
  // The table holds nothing that the record lacks, so that it is made anew wherever it differs:
  // after a kill between the two appends, or an edit.
  std::string wanted;
  for (const Entry& entry : entries_) {
    if (!is_evaluated(entry)) continue;
    if (wanted.empty()) {
      columns_ = columns_of(entry);
      wanted = header_of(columns_);
    }
    wanted += row_of(entry, columns_);
  }
  std::error_code ignored;
  if (!fs::exists(table_path_, ignored) || text_of(table_path_) != wanted) {
    write_file_atomically(table_path_, wanted);
  }
  table_ = open_for_writing(table_path_);
}

void Leaderboard::append(const Entry& entry) {
  const std::string line = line_of(entry);
  // The record comes first: the table can be made of it, but not the reverse.
  append_line(record_, record_path_, line + "\n");
  const bool is_first = std::ranges::none_of(entries_, is_evaluated);
  // The entry is what a restart would read, without what JSON cannot hold (NaN, infinities), so
  // that both decide alike.
  const Entry& added = entries_.emplace_back(entry_of(line));
  if (!is_evaluated(added)) return;
  if (is_first) columns_ = columns_of(added);
  append_line(table_, table_path_, (is_first ? header_of(columns_) : "") + row_of(added, columns_));
}

}  // namespace tally::watch
