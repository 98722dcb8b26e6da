// SPDX-License-Identifier: Apache-2.0
#include "coco_results.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("results.json", fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset}, [] {
    app::read_coco_results("results.json", [](const app::CocoResult&) {});
  });
}
