// A regression of images: each pixel is a value.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_map_regression(const TaskOptions& options);

}  // namespace tally::tasks
