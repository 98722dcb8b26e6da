// SPDX-License-Identifier: Apache-2.0
#include <tally/model/card.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  return fuzz::read_or_refuse({ErrorKind::model}, [&] {
    const auto card = model::parse_card(fuzz::text_of(data, size), "model 'm.pt'");
    fuzz::require(card.takes_batches_of(card.fixed_batch.value_or(1)), "some batches fit");
    card.batch_sizes();
  });
}
