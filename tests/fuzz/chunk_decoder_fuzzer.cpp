// SPDX-License-Identifier: Apache-2.0
// The first byte says which filters there are, the second which of them were left out.
#include <span>

#include "harness.hpp"
#include "reading/chunk_decoder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  if (size < 2) return 0;
  hdf5::DatasetInfo info;
  info.element = hdf5::Element::f32;
  info.shape = {300};
  info.storage = hdf5::Storage::chunked;
  info.chunk_shape = {300};
  info.shuffled_bytes = 4;
  for (int bit = 0; const char* filter : {"shuffle", "deflate", "fletcher32"}) {
    if ((data[0] >> bit++ & 1) != 0) info.filters.emplace_back(filter);
  }
  std::vector<std::byte> out(300 * sizeof(float));
  const auto stored = std::as_bytes(std::span(data, size)).subspan(2);
  const auto problem = data::ChunkDecoder(info).decode(stored, data[1], out);
  if (!problem.empty()) ++fuzz::num_refused;
  return 0;
}
