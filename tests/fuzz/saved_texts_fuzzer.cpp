// SPDX-License-Identifier: Apache-2.0
// SQuAD's predictions.json.
#include "harness.hpp"
#include "saved_texts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("predictions.json", fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset}, [] {
    const auto texts = app::read_texts("predictions.json");
    fuzz::require(std::ranges::is_sorted(texts), "ids ascend");
  });
}
