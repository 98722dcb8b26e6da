#include <tally/tasks/task.hpp>

#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "detection.hpp"
#include "labelwise.hpp"
#include "language_model.hpp"
#include "multiclass.hpp"
#include "predict.hpp"
#include "question_answering.hpp"
#include "regression.hpp"
#include "segmentation.hpp"

namespace tally::tasks {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Task> (*make)(const TaskOptions&);
  bool reads_bfloat16 = false;
};
// In order of name.
constexpr std::array kTasks{
    Entry{"binary", make_binary},
    Entry{"detection", make_detection},
    Entry{"language-model", make_language_model, true},
    Entry{"multiclass", make_multiclass},
    Entry{"multilabel", make_multilabel},
    Entry{"multiple-choice", make_multiple_choice, true},
    Entry{"predict", make_predict},
    Entry{"question-answering", make_question_answering},
    Entry{"regression", make_regression},
    Entry{"segmentation", make_segmentation},
};

}  // namespace

void Task::scores_of(const predictions::RecordBatch&, std::span<float>,
                     std::span<std::uint8_t>) const {
  throw Error(ErrorKind::internal, "scores of classes were asked of a task that has none");
}

void Task::pairs_of(const predictions::RecordBatch&, std::span<float>, std::span<float>) const {
  throw Error(ErrorKind::internal, "real values were asked of a task that has none");
}

std::unique_ptr<Task> make_task(const TaskOptions& options) {
  const bool saves_masks =
      std::ranges::find(options.save, SaveColumns::masks) != options.save.end();
  if (saves_masks && options.task != "segmentation" && !options.metrics.maps) {
    throw Error(ErrorKind::usage, format("the task {} has no masks to save", options.task),
                "Leave masks out of --save.");
  }
  for (const Entry& entry : kTasks) {
    if (entry.name == options.task) return entry.make(options);
  }
  throw Error(ErrorKind::usage, format("task '{}' is not known", options.task),
              format("Known: {}.", fmt::join(known_tasks(), ", ")));
}

bool reads_bfloat16(std::string_view task) {
  const auto found = std::ranges::find(kTasks, task, &Entry::name);
  return found != kTasks.end() && found->reads_bfloat16;
}

std::vector<std::string_view> known_tasks() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kTasks) names.push_back(entry.name);
  return names;
}

}  // namespace tally::tasks
