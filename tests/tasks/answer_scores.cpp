// SPDX-License-Identifier: Apache-2.0
// answer_scores: scores answers for the test that compares them with Python's. Standard input: a
// JSON list of [rules, prediction, [golds]]; output: a list of [tokens of prediction, exact, f1].
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "question_answering/squad_scores.hpp"

int main() {
  using namespace tally::tasks;
  auto output = nlohmann::json::array();
  for (const auto& question : nlohmann::json::parse(std::cin)) {
    const bool v1 = question.at(0) == "v1";
    const auto prediction = question.at(1).get<std::string>();
    const auto golds = question.at(2).get<std::vector<std::string>>();
    const AnswerScore score =
        score_answer(prediction, golds, v1 ? AnswerRules::squad_v1 : AnswerRules::squad_v2);
    output.push_back({answer_tokens(prediction), score.exact, score.f1});
  }
  std::puts(output.dump().c_str());
  return 0;
}
