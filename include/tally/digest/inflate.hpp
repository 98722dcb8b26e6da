// SPDX-License-Identifier: Apache-2.0
// Unpacks what zlib's deflate packed.
#pragma once

#include <cstddef>
#include <span>

namespace tally::digest {

// One zlib stream (RFC 1950) that must give exactly `out.size()` bytes, its Adler-32 compared.
// False where it is damaged, ends early or gives more or fewer, and where either has 4 GiB or more;
// `out` then holds anything. What is behind the stream is not looked at. From several threads at
// once.
bool inflate_zlib(std::span<const std::byte> stream, std::span<std::byte> out);

// The same of a bare stream (RFC 1951), as zip archives hold it: it has no checksum of its own.
bool inflate_raw(std::span<const std::byte> stream, std::span<std::byte> out);

}  // namespace tally::digest
