// SPDX-License-Identifier: Apache-2.0
// Writes to standard output, and finds out whether all of it got there.
#pragma once

#include <string_view>

namespace tally::console {

// Lines for people and JSON for programs, whatever names and texts of files they hold: nothing in
// them steers a terminal (printable(), printable_lines(), printable_json()). print_line() adds the
// line feed, and stays one line.
void print_line(std::string_view line);
void print(std::string_view lines);
void print_json(std::string_view text);

// Writes what is still buffered. Throws Error(output), which says `next_step`, where something that
// was printed is lost, as on a full disk. A reader that left early, like `head`, loses nothing that
// it wanted.
void require_written(std::string_view next_step = "Check where it is redirected to.");

}  // namespace tally::console
