#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

// Each throws as make_task().
std::unique_ptr<Task> make_language_model(const TaskOptions& options);
std::unique_ptr<Task> make_multiple_choice(const TaskOptions& options);

}  // namespace tally::tasks
