// SPDX-License-Identifier: Apache-2.0
// The index of a data set of several files.
#include "harness.hpp"
#include "shards/shard_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  fuzz::write_input("val.shards.json", fuzz::text_of(data, size));
  return fuzz::read_or_refuse({ErrorKind::dataset},
                              [] { data::read_shard_index("val.shards.json"); });
}
