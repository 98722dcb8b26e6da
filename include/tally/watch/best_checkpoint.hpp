// SPDX-License-Identifier: Apache-2.0
// Keeps the best checkpoint so far under one name, that of a link or of a copy. One process at a
// time may do so.
#pragma once

#include <filesystem>
#include <functional>

namespace tally::watch {

// Whatever is at `best` stays usable until the new one takes its place, at once but for a file
// system that cannot exchange two names (atomic_replace.hpp); where a copy is interrupted, the next
// call clears away what it left. `checkpoint` is absolute. All three throw Error(output).
void link_best(const std::filesystem::path& checkpoint, const std::filesystem::path& best);

// A file, or a folder with all that is in it; what links lead to is copied, too. False where
// training has removed the checkpoint or a part of it, or it is no longer itself (`is_still`, asked
// once all is copied): then `best` is as it was.
bool copy_best(const std::filesystem::path& checkpoint, const std::filesystem::path& best,
               const std::function<bool()>& is_still);

// Nothing where `best` is no link.
void remove_link(const std::filesystem::path& best);

}  // namespace tally::watch
