// SPDX-License-Identifier: Apache-2.0
// All that is asked of an archive.
#include <span>
#include <tally/weights/zip_archive.hpp>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  try {
    const weights::MemorySource bytes(std::as_bytes(std::span(data, size)));
    const weights::Archive archive(bytes);
    for (const auto& entry : archive.entries()) {
      const auto place = archive.place(entry);
      fuzz::require(archive.has(entry), "an entry that is listed is there");
      fuzz::require(bytes.read(place.offset, place.num_bytes) == archive.content(entry),
                    "an entry is where its place says");
    }
    archive.check();
  } catch (const weights::FormatError&) {
    ++fuzz::num_refused;
  }
  return 0;
}
