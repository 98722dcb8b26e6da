// Objects in images: boxes with a class and a score.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_detection(const TaskOptions& options);

}  // namespace tally::tasks
