// SPDX-License-Identifier: Apache-2.0
// What this process is at: the phase of the run, and with what (a file, samples). Setting it costs
// a few stores, so that loops can; a signal handler can read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tally/base/fixed_text.hpp>

namespace tally {

// From now on this phase is under way: one of the names that report.json has in timing.phases,
// without "_s". `name` stays.
void begin_phase(const char* name) noexcept;
// Empty before the first.
std::string_view current_phase() noexcept;

// Says what this thread works on until the end of the scope: "data set 'val.h5'". Scopes nest; the
// innermost counts. A thread without one has that of the main thread.
class WorkScope {
 public:
  explicit WorkScope(std::string_view object) noexcept;
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  friend void note_samples(std::int64_t first, std::int64_t count) noexcept;
  friend struct WorkReader;

  WorkScope* outer_;
  std::int64_t first_ = 0, num_samples_ = 0;
  FixedText<160> object_;
};

// Adds the samples at hand, by their numbers in the data set, to the innermost scope of this
// thread, if there is one.
void note_samples(std::int64_t first, std::int64_t count) noexcept;

using WorkText = FixedText<240>;
// "data set 'val.h5', samples 640 to 703" of this thread; of what an exception left in this phase,
// if one did. Empty where nothing is known. Async-signal-safe.
WorkText current_object() noexcept;
// "evaluate, data set 'val.h5', samples 640 to 703"; "start" before the first phase.
// Async-signal-safe.
FixedText<280> current_work() noexcept;

}  // namespace tally
