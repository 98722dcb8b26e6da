// One class label per sample.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_multiclass(const TaskOptions& options);

}  // namespace tally::tasks
