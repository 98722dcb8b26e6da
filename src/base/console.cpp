// SPDX-License-Identifier: Apache-2.0
#include <tally/base/console.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::console {
namespace {

// What the first write that failed said; later ones may fail for other reasons.
std::atomic<int> first_error = 0;

void keep_error(int error) {
  int none = 0;
  first_error.compare_exchange_strong(none, error);
}

void put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_error(errno);
}

}  // namespace

void print_line(std::string_view line) { put(printable(line) + '\n'); }
void print(std::string_view lines) { put(printable_lines(lines)); }
void print_json(std::string_view text) { put(printable_json(text)); }

void require_written(std::string_view next_step) {
  if (std::fflush(stdout) != 0) keep_error(errno);
  const int error = first_error.load();
  if (error == 0 || error == EPIPE) return;
  throw Error(ErrorKind::output, format("cannot write to standard output ({})", errno_text(error)),
              next_step);
}

}  // namespace tally::console
