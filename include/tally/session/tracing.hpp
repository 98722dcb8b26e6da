// SPDX-License-Identifier: Apache-2.0
// Makes the trace that --trace asks for: it is recorded on every rank, brought to rank 0 and
// published there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/comm/clock_offset.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/session/phases.hpp>
#include <tally/trace/span_recording.hpp>
#include <tally/trace/trace_file.hpp>

namespace tally::app {

class Tracing {
 public:
  // Collective. From here on spans are recorded.
  explicit Tracing(const comm::Communicator& comm);

  // Collective. What was recorded so far, the phases that ended included, goes to `file`, which
  // only rank 0 has; at most `window_bytes` are on their way. On rank 0, why the file could not be
  // written: then finish() makes no sense.
  std::optional<Error> gather(const comm::Communicator& comm, Phases& phases,
                              std::int64_t window_bytes, trace::TraceFile* file);
  // How many events found no room, on all ranks: known to rank 0 after gather().
  std::int64_t num_dropped() const;
  // On rank 0, after gather(): adds what was recorded since. Error(output).
  void finish(Phases& phases, trace::TraceFile& file);

 private:
  std::vector<trace::Event> take(Phases& phases);

  trace::Recorder recorder_;
  comm::ClockOffset first_clocks_;
  std::int64_t origin_ns_ = 0;            // of the trace, on rank 0's clock
  std::vector<trace::TracedRank> ranks_;  // on rank 0
};

// Under one of NVIDIA's profilers every span becomes a range there.
void show_spans_to_profilers();

}  // namespace tally::app
