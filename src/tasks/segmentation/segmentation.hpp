// A class for each pixel of an image.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

// Scores are counted on the CPU: from a GPU they are brought there.
std::unique_ptr<Task> make_segmentation(const TaskOptions& options);

}  // namespace tally::tasks
