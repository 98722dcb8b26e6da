// SPDX-License-Identifier: Apache-2.0
// Describes a checkpoint that training has written: one version of a file or a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tally::watch {

// What is written anew under the same name is another checkpoint.
struct Checkpoint {
  std::optional<std::int64_t> step;  // as step_of() has it
  std::string name;                  // in its folder; UTF-8
  std::filesystem::path path;        // absolute
  std::int64_t bytes = 0;            // of all its files
  std::int64_t modified_ns = 0;      // of its newest file, since 1970
};

bool is_same_version(const Checkpoint& a, const Checkpoint& b);

// The number in a name that says how far training was: the first one behind "step", else the first
// one behind "epoch", "iter", "iteration" or "checkpoint", else the last one before the ending.
// Numbers with a decimal point are metrics ("val_loss=0.25"), not steps.
std::optional<std::int64_t> step_of(std::string_view name);

// The order in which checkpoints are evaluated: by step, those without one after them by the time
// they were modified; ties by name.
bool stands_before(const Checkpoint& a, const Checkpoint& b);

}  // namespace tally::watch
