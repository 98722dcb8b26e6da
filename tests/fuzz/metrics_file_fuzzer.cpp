// SPDX-License-Identifier: Apache-2.0
#include <tally/report/metrics_file.hpp>

#include "harness.hpp"
#include "hdf5_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto file = fuzz::write_hdf5_input(fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::usage}, [&] { report::describe_metrics_file(file); });
}
