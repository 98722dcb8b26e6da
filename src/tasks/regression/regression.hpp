// Real-valued targets, one or several per sample.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_regression(const TaskOptions& options);

}  // namespace tally::tasks
