// The root attribute by which a predictions file is known, the version of its layout, and what a
// ragged column consists of.
#pragma once

#include <cstdint>

namespace tally::predictions {

inline constexpr char kFileMark[] = "tally_predictions";
inline constexpr std::int64_t kFileVersion = 1;

// The elements of row i are values[offsets[i]] to values[offsets[i + 1] - 1].
inline constexpr char kValues[] = "/values";
inline constexpr char kOffsets[] = "/offsets";  // int64 [N+1]

}  // namespace tally::predictions
