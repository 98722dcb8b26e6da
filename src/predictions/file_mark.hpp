// The root attribute by which a predictions file is known, and the version of its layout.
#pragma once

#include <cstdint>

namespace tally::predictions {

inline constexpr char kFileMark[] = "tally_predictions";
inline constexpr std::int64_t kFileVersion = 1;

}  // namespace tally::predictions
