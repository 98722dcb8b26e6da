// SPDX-License-Identifier: Apache-2.0
// A file, a folder or a link put in the place of another one.
#pragma once

#include <filesystem>

namespace tally::watch {

// Renames `made` to `place`; what was there is removed. In one step, except that a file system that
// cannot exchange two names leaves `place` empty for a moment where a folder is involved: what was
// there then lies at before_path(place). Throws Error(output).
void atomic_replace(const std::filesystem::path& made, const std::filesystem::path& place);

// The second way, by two renames.
void put_in_emptied_place(const std::filesystem::path& made, const std::filesystem::path& place);

std::filesystem::path before_path(const std::filesystem::path& place);

// Puts back what an interruption has left at before_path(place), or removes it where it has been
// replaced.
void recover_place(const std::filesystem::path& place);

}  // namespace tally::watch
