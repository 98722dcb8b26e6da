// Answers as spans of a text, as SQuAD has them.
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

std::unique_ptr<Task> make_question_answering(const TaskOptions& options);

}  // namespace tally::tasks
