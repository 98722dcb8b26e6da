// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/task.hpp>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "task_factories.hpp"

namespace tally::tasks {
namespace {

std::unique_ptr<Task> make(TaskKind kind, const TaskOptions& options) {
  switch (kind) {
    case TaskKind::binary:
      return make_binary(options);
    case TaskKind::detection:
      return make_detection(options);
    case TaskKind::language_model:
      return make_language_model(options);
    case TaskKind::multiclass:
      return make_multiclass(options);
    case TaskKind::multilabel:
      return make_multilabel(options);
    case TaskKind::multiple_choice:
      return make_multiple_choice(options);
    case TaskKind::predict:
      return make_predict(options);
    case TaskKind::question_answering:
      return make_question_answering(options);
    case TaskKind::regression:
      return make_regression(options);
    case TaskKind::segmentation:
      return make_segmentation(options);
    case TaskKind::token_classification:
      return make_token_classification(options);
  }
  throw Error(ErrorKind::internal, "a task has no scorer");
}

}  // namespace

const ClassScores& class_scores_of(const Task& task) {
  if (const ClassScores* scores = task.capabilities().class_scores) return *scores;
  throw Error(ErrorKind::internal, "scores of classes were asked of a task that has none");
}

const ValuePairs& value_pairs_of(const Task& task) {
  if (const ValuePairs* pairs = task.capabilities().value_pairs) return *pairs;
  throw Error(ErrorKind::internal, "real values were asked of a task that has none");
}

std::unique_ptr<Task> make_task(const TaskOptions& options) {
  const bool saves_masks =
      std::ranges::find(options.save, SaveColumns::masks) != options.save.end();
  if (saves_masks && !is_task(options.task, TaskKind::segmentation) && !options.metrics.maps) {
    throw Error(ErrorKind::usage, format("the task {} has no masks to save", options.task),
                "Leave masks out of --save.");
  }
  if (const auto* task = find_task_traits(options.task)) return make(task->kind, options);
  throw Error(ErrorKind::usage, format("task '{}' is not known", options.task),
              format("Known: {}.", fmt::join(task_names(), ", ")));
}

}  // namespace tally::tasks
