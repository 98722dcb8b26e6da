// SPDX-License-Identifier: Apache-2.0
// Checks targets of sequences against the sequences' lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <tally/data/data_set.hpp>

namespace tally::data {

// rows: those of `column` from sample `first` on; lengths: of as many samples, in range. Places
// that a target names must lie in the sequence, and labels behind its end must be those that mark
// padding: models say nothing of it, and batches sorted by length leave it out. Throws
// Error(dataset) naming the first that is otherwise. Other columns pass.
void check_against_lengths(const std::filesystem::path& path, const ColumnInfo& column,
                           std::int64_t first, std::span<const std::byte> rows,
                           std::span<const std::int32_t> lengths);

}  // namespace tally::data
