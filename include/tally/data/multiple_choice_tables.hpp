// SPDX-License-Identifier: Apache-2.0
// Reads what a data set of multiple choice knows of its questions: which samples are their choices,
// and which one is right.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/column_values.hpp>
#include <tally/data/data_set.hpp>

namespace tally::data {

// Of some questions that follow one another.
struct Choices {
  // [questions + 1]: question i has the samples first_choice[i] to before first_choice[i + 1], one
  // at least; sample s is its choice s - first_choice[i].
  std::vector<std::int64_t> first_choice = {0};
  std::vector<std::int64_t> gold;  // which choice is right

  std::int64_t num_questions() const { return std::ssize(gold); }
};

// Of questions [first, first + count) of a data set of the task `multiple-choice`. Not collective.
// Throws Error(dataset) naming the object, its index and value where a question has no choice, the
// right one is not among them, the choices of all questions together are not all samples, or a
// checksum differs.
Choices read_choices(DataSet& data_set, std::int64_t first, std::int64_t count);
// The texts of all these choices, from the first of the first question on; UTF-8.
RaggedRows read_choice_texts(DataSet& data_set, const Choices& choices);

}  // namespace tally::data
