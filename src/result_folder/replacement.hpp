// SPDX-License-Identifier: Apache-2.0
// One result takes the place of another in a folder, so that at every moment, whatever is killed or
// fails, one of the two is whole (docs/decisions/031). Files that only have the names of a result's
// are never replaced.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tally::app {

// The files of a result that its folder may hold. The report is the first to go and the last to
// come: where it lies, a result is complete.
inline constexpr std::array<std::string_view, 6> kResultFiles{"report.json",    "metrics.h5",
                                                              "predictions.h5", "predictions.json",
                                                              "nbest.json",     "detections.json"};
inline constexpr std::string_view kEventsFile = "events.jsonl";

// The names of what lies in the folder, in no order. Throws Error(output) where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// Whether a folder holds what a run has evaluated that was not complete. Throws Error(output) where
// it cannot be read.
bool holds_progress(const std::filesystem::path& folder);

// Whether a run is at work in the folder, or was killed there.
bool is_being_replaced(const std::filesystem::path& folder);
// Whether such a run has moved the report of the earlier result aside and has put none in its
// place: who reads a result here finds none.
bool lacks_its_report(const std::filesystem::path& folder);

// The process that calls one of these has the folder's lock. They throw Error(output).

// Puts in order what a run left that was killed: a result that it had published stays, and what
// that replaced goes; else the earlier one comes back. Killed itself, it can be called again.
void settle(const std::filesystem::path& folder);

// A run begins: the events of the earlier result are kept aside, or, where it is the same result,
// stay. What is thrown leaves the folder as it was; it is thrown, too, where another run has begun.
void begin_replacing(const std::filesystem::path& folder, bool events_stay = false);
// Where that is, until replace_result() or roll_back().
std::filesystem::path set_aside(const std::filesystem::path& folder);

// Puts the files `names`, which lie at their partial_path() and are synced, in the place of the
// earlier result: `earlier`, the names of its files, and its events. report.json must be among
// `names`. Calls `complete` when all of them have their names. After what is thrown, roll_back()
// brings the earlier result back; where nothing is, discard_replaced() removes it.
void replace_result(const std::filesystem::path& folder, const std::vector<std::string>& earlier,
                    const std::vector<std::string>& names, const std::function<void()>& complete);

// Removes the result that was replaced. Where that fails it takes up space until the next run that
// comes here removes it: the new result, which is complete, is not taken back for it.
void discard_replaced(const std::filesystem::path& folder) noexcept;

// The run ended without a result, and its events are removed: brings the earlier ones back.
void roll_back(const std::filesystem::path& folder);

// A run goes on that was killed: its events end with a whole line again. Error(output).
void cut_torn_line(const std::filesystem::path& events);

// What --overwrite replaces: files of a result, never others that only have their names.

// The names of the files of the result in `folder`, without its events; with its trace, if that
// lies there and is not `new_trace`, which takes its place. Empty without one. Error(output) where
// a file has a name of a result's and is none of tally's, its events included.
std::vector<std::string> earlier_result(const std::filesystem::path& folder,
                                        const std::filesystem::path& new_trace);
// Error(output) where events.jsonl is there and none of tally's.
void require_own_events(const std::filesystem::path& folder);

}  // namespace tally::app
