// The tasks whose labels are judged one by one: binary, multilabel.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_binary(const TaskOptions& options);
std::unique_ptr<Task> make_multilabel(const TaskOptions& options);

}  // namespace tally::tasks
