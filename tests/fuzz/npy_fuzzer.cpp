// SPDX-License-Identifier: Apache-2.0
#include "array_rows.hpp"
#include "array_rows_all.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("scores.npy", fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset},
                              [] { fuzz::read_all_rows(*app::npy_rows("scores.npy", "logits")); });
}
