// SPDX-License-Identifier: Apache-2.0
// Reads what a data set of question answering knows of its questions: on which paragraph each is,
// and which answers are right.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Of some questions that follow one another.
struct QuestionRows {
  std::vector<std::int64_t> paragraphs;  // [questions], ascending
  // [questions + 1]: question i has the answers first_answers[i] to before first_answers[i + 1].
  std::vector<std::int64_t> first_answers;
};

// Of questions [first, first + count) of a data set of the task `question-answering`. Not
// collective. Throws Error(dataset) naming the table, its row and value where paragraphs do not
// ascend from the question before, answers do not follow one another from the data set's first to
// its last, a question has none though the data set does not allow it, or a checksum differs.
QuestionRows read_questions(DataSet& data_set, std::int64_t first, std::int64_t count);

}  // namespace tally::data
