// SPDX-License-Identifier: Apache-2.0
// What is accepted must be accepted again as the settings of the report say it.
#include <tally/config/run_options.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("run.cfg", fuzz::text_of(data, size));
  std::vector<std::string> again;
  fuzz::read_or_refuse({ErrorKind::usage}, [&] {
    const auto parsed = config::parse_run_options({"--config", "run.cfg"}, {});
    for (const auto& [name, value] : parsed.config.settings) {
      if (!value.empty()) again.push_back("--" + name + "=" + value);
    }
  });
  if (!again.empty()) config::parse_run_options(again, {});
  return 0;
}
