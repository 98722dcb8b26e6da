// What a data set knows of questions, some of them at a time.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/data/ragged.hpp>
#include <tally/tasks/answers.hpp>

namespace tally::app {

class QuestionTexts {
 public:
  // Questions first … first + count - 1. Throws Error(dataset).
  QuestionTexts(data::DataSet& data_set, std::int64_t first, std::int64_t count);

  // Points into this object.
  tasks::Question question(std::int64_t unit) const;

 private:
  std::int64_t first_;
  data::RaggedRows ids_;
  std::vector<std::int64_t> paragraphs_;  // of each question
  // Paragraphs that follow one another.
  struct Run {
    std::int64_t first = 0;
    data::RaggedRows contexts, tokens;
  };
  std::vector<Run> runs_;                    // in the order of the paragraphs
  std::vector<std::int64_t> first_answers_;  // [count + 1]
  data::RaggedRows answers_;                 // from the first question's first on
};

}  // namespace tally::app
