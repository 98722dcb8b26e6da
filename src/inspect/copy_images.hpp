// SPDX-License-Identifier: Apache-2.0
// `tally inspect --copy-images`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tally::app {

struct NamedSample {
  std::int64_t index = 0;
  std::string name;  // as the data set has it: a path below the folder of images
};

// Copies the file of each sample from `images` to the new folder `target`, which appears when all
// are there: 0001_<index>_<file's name> is the first one. Error(dataset) for a name that leads out
// of `images`, Error(usage) for a file that is not there, Error(output) for a `target` that is not
// empty or cannot be written.
void copy_images(const std::vector<NamedSample>& samples, const std::filesystem::path& images,
                 const std::filesystem::path& target);

}  // namespace tally::app
