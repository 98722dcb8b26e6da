// SPDX-License-Identifier: Apache-2.0
// A run's report.json, and texts that are taken for the events of a run.
#include <tally/report/describe_report.hpp>
#include <tally/report/event_log.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  report::are_events(fuzz::text_of(data, size));
  fuzz::write_input("report.json", fuzz::text_of(data, size));
  report::files_of_report("report.json");
  return fuzz::read_or_refuse({ErrorKind::usage}, [] { report::describe_report("report.json"); });
}
