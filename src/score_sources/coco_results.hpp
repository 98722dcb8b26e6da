// SPDX-License-Identifier: Apache-2.0
// COCO's format of detection results, read as a stream: a file may hold millions.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>

#include <tally/tasks/detection_matching.hpp>

namespace tally::app {

struct CocoResult {
  std::int64_t image_id = 0;
  std::int64_t category_id = 0;
  tasks::Box box{};
  double score = 0;
};

// Calls `take` with each entry of the list, in order; other fields are passed over. Throws
// Error(dataset) naming the entry that is not of this form, and what `take` throws.
void read_coco_results(const std::filesystem::path& path,
                       const std::function<void(const CocoResult&)>& take);

}  // namespace tally::app
