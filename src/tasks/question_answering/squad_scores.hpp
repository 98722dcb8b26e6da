// SPDX-License-Identifier: Apache-2.0
// Scores of answer texts by the rules of SQuAD's official scorers, over UTF-8. A sequence of bytes
// that is not UTF-8 counts as U+FFFD, which is neither a letter nor a blank.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::tasks {

// The words of the normalised text: in lower case, without ASCII punctuation, without the words a,
// an, the, split at white space. Case, letters and white space are Unicode's, as Python's
// str.lower(), re and str.split() have them.
std::vector<std::string> answer_tokens(std::string_view text);

// Which scorer's rules: they differ in what an empty text is worth.
enum class AnswerRules {
  squad_v1,  // F1 with an empty text is 0
  squad_v2,  // golds that are normalised to nothing do not count; without golds an empty text is
             // right
};

struct AnswerScore {
  bool exact = false;
  double f1 = 0;
  bool operator==(const AnswerScore&) const = default;
};

// Against one gold answer, as it stands.
AnswerScore score_against(std::string_view prediction, std::string_view gold, AnswerRules rules);

// Each score is the best over the golds of the question; without golds, by the rules of v1, zero.
AnswerScore score_answer(std::string_view prediction, std::span<const std::string> golds,
                         AnswerRules rules);

}  // namespace tally::tasks
