// SPDX-License-Identifier: Apache-2.0
// The factories of the tasks, each in the body of its task's name. All throw as make_task().
#pragma once

#include <memory>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

// One class label per sample.
std::unique_ptr<Task> make_multiclass(const TaskOptions& options);

// The tasks whose labels are judged one by one: binary, multilabel.
std::unique_ptr<Task> make_binary(const TaskOptions& options);
std::unique_ptr<Task> make_multilabel(const TaskOptions& options);

// Real-valued targets, one or several per sample.
std::unique_ptr<Task> make_regression(const TaskOptions& options);

// A regression of images: each pixel is a value.
std::unique_ptr<Task> make_map_regression(const TaskOptions& options);

// A class for each pixel of an image. Pixels are counted on the CPU: of scores on a GPU the best
// class of each pixel is found there and brought to the host.
std::unique_ptr<Task> make_segmentation(const TaskOptions& options);

// Objects in images: boxes with a class and a score.
std::unique_ptr<Task> make_detection(const TaskOptions& options);

// Answers as spans of a text, as SQuAD has them.
std::unique_ptr<Task> make_question_answering(const TaskOptions& options);

// The tokens of sequences, of which several make a document or a question with choices.
std::unique_ptr<Task> make_language_model(const TaskOptions& options);
std::unique_ptr<Task> make_multiple_choice(const TaskOptions& options);

// A class for each token of a sequence, such as the tags that name entities.
std::unique_ptr<Task> make_token_classification(const TaskOptions& options);

// Nothing is scored: what the model returns is saved.
std::unique_ptr<Task> make_predict(const TaskOptions& options);

}  // namespace tally::tasks
