// SPDX-License-Identifier: Apache-2.0
// Lists the tasks: one row for each says what the rooms need to know of it. No other file compares
// names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tally {

enum class TaskKind : std::uint8_t {
  binary,
  detection,
  language_model,
  multiclass,
  multilabel,
  multiple_choice,
  predict,
  question_answering,
  regression,
  segmentation,
  token_classification
};
// By the last of them.
inline constexpr std::size_t kNumTasks =
    static_cast<std::size_t>(TaskKind::token_classification) + 1;

// What `tally score` reads of an evaluation.
enum class SavedForm : std::uint8_t {
  scores,      // a column that stands for the model's output
  texts,       // an answer for each question
  detections,  // of each image
  units,       // sums of each document, or likelihoods of each question's choices
  tags,        // a class for each place of a sequence: they are saved, but not read yet
  none         // nothing is scored
};

struct TaskTraits {
  TaskKind kind;
  std::string_view name;  // in options, data sets and reports
  // The word for a unit and for several, or where there are none for what num_classes counts:
  // "class", "classes". Empty: there is neither.
  std::string_view one = {}, many = {};
  SavedForm saved = SavedForm::scores;
  bool is_scored = true;
  bool has_threshold = false;            // of a probability, above which a label is predicted
  bool has_loss_options = false;         // label smoothing and class weights
  bool has_classes = true;               // num_classes is at least 1
  bool has_large_confusion = false;      // a matrix of classes x classes; --confusion-max-classes
  bool has_confusion_of_labels = false;  // a matrix of 2 x 2 for each label
  bool has_class_counts = true;          // metrics of classes have predicted and correct samples
  bool depends_on_output_kind = true;    // logits, log-probabilities or probabilities
  bool is_scored_of_classes = false;     // saved predictions may be classes alone, without scores
  bool reads_bfloat16 = false;           // scores are read as they are, not widened first
  bool scores_at_places = false;         // of sequences scores are read only where labels count
  std::array<std::string_view, 2> text_files = {};  // beside predictions.h5; empty: none
};

// All, in the order of TaskKind, which is that of the names.
std::span<const TaskTraits> all_tasks();

const TaskTraits& task_traits(TaskKind kind);
// The name must be that of a task; throws Error(internal) otherwise.
const TaskTraits& task_traits(std::string_view name);
// Null for a name that is none.
const TaskTraits* find_task_traits(std::string_view name);

std::string_view task_name(TaskKind kind);
// Whether a name, which may be any text, is that of this task.
bool is_task(std::string_view name, TaskKind kind);
std::vector<std::string_view> task_names();

}  // namespace tally
