// SPDX-License-Identifier: Apache-2.0
// What is taken for a message is the same when it is written and taken again.
#include "harness.hpp"
#include "messages.hpp"

namespace {

template <class Message>
bool is_taken(const std::optional<Message>& found,
              std::optional<Message> (*parse)(std::string_view line)) {
  using namespace tally;
  if (!found) return false;
  const auto line = watchdog::to_line(*found);
  const auto again = parse(line);
  fuzz::require(again && watchdog::to_line(*again) == line, "it is taken again");
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto line = fuzz::text_of(data, size);
  bool any = is_taken(watchdog::hello_from(line), watchdog::hello_from);
  any = is_taken(watchdog::node_report_from(line), watchdog::node_report_from) || any;
  any = is_taken(watchdog::job_report_from(line), watchdog::job_report_from) || any;
  if (!any) ++fuzz::num_refused;
  return 0;
}
