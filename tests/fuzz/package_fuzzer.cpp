// SPDX-License-Identifier: Apache-2.0
// The archive of a compiled model; the library in it is not loaded.
#include <span>

#include "aoti/package.hpp"
#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  return fuzz::read_or_refuse({ErrorKind::model}, [&] {
    const auto package = model::open_package({"m.pt2", std::as_bytes(std::span(data, size))});
    model::checked_card(package);
  });
}
