// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/indexed_table.hpp>
#include <tally/base/task_traits.hpp>

namespace tally {
namespace {

constexpr std::array kTasks{
    TaskTraits{.kind = TaskKind::binary,
               .name = "binary",
               .one = "class",
               .many = "classes",
               .has_threshold = true,
               .is_scored_of_classes = true},
    TaskTraits{.kind = TaskKind::detection,
               .name = "detection",
               .one = "class",
               .many = "classes",
               .saved = SavedForm::detections,
               .depends_on_output_kind = false,
               .text_files = {"detections.json"}},
    TaskTraits{.kind = TaskKind::language_model,
               .name = "language-model",
               .one = "document",
               .many = "documents",
               .saved = SavedForm::units,
               .reads_bfloat16 = true,
               .scores_at_places = true},
    TaskTraits{.kind = TaskKind::multiclass,
               .name = "multiclass",
               .one = "class",
               .many = "classes",
               .has_loss_options = true,
               .has_large_confusion = true,
               .is_scored_of_classes = true},
    TaskTraits{.kind = TaskKind::multilabel,
               .name = "multilabel",
               .one = "label",
               .many = "labels",
               .has_threshold = true,
               .has_confusion_of_labels = true,
               .is_scored_of_classes = true},
    TaskTraits{.kind = TaskKind::multiple_choice,
               .name = "multiple-choice",
               .one = "question",
               .many = "questions",
               .saved = SavedForm::units,
               .reads_bfloat16 = true,
               .scores_at_places = true},
    TaskTraits{.kind = TaskKind::predict,
               .name = "predict",
               .saved = SavedForm::none,
               .is_scored = false,
               .has_classes = false,
               .depends_on_output_kind = false},
    TaskTraits{.kind = TaskKind::question_answering,
               .name = "question-answering",
               .one = "question",
               .many = "questions",
               .saved = SavedForm::texts,
               .has_classes = false,
               .text_files = {"predictions.json", "nbest.json"}},
    TaskTraits{.kind = TaskKind::regression,
               .name = "regression",
               .one = "output",
               .many = "outputs",
               .has_class_counts = false},
    TaskTraits{.kind = TaskKind::segmentation,
               .name = "segmentation",
               .one = "class",
               .many = "classes",
               .has_large_confusion = true,
               .depends_on_output_kind = false},
    TaskTraits{.kind = TaskKind::token_classification,
               .name = "token-classification",
               .one = "class",
               .many = "classes",
               .saved = SavedForm::tags,
               .has_large_confusion = true,
               .reads_bfloat16 = true},
};

// task_traits() takes the kind as an index, and help and messages list the names in this order.
static_assert(kTasks.size() == kNumTasks && is_indexed_by(kTasks, &TaskTraits::kind));
static_assert(std::ranges::is_sorted(kTasks, {}, &TaskTraits::name));

}  // namespace

std::span<const TaskTraits> all_tasks() { return kTasks; }

const TaskTraits& task_traits(TaskKind kind) { return kTasks.at(static_cast<std::size_t>(kind)); }

const TaskTraits* find_task_traits(std::string_view name) {
  const auto found = std::ranges::find(kTasks, name, &TaskTraits::name);
  return found == kTasks.end() ? nullptr : &*found;
}

const TaskTraits& task_traits(std::string_view name) {
  if (const auto* found = find_task_traits(name)) return *found;
  throw Error(ErrorKind::internal, format("there is no task '{}'", name));
}

std::string_view task_name(TaskKind kind) { return task_traits(kind).name; }

bool is_task(std::string_view name, TaskKind kind) { return name == task_name(kind); }

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskTraits& task : all_tasks()) names.push_back(task.name);
  return names;
}

}  // namespace tally
