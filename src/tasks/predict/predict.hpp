// Nothing is scored: what the model returns is saved.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_predict(const TaskOptions& options);

}  // namespace tally::tasks
