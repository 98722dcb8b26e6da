#include "question_texts.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::app {
namespace {

std::vector<std::int64_t> read_table(data::DataSet& data_set, std::string_view path,
                                     std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values(to_size(count));
  data_set.read_rows(data_set.info().table(path), first, count,
                     std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

QuestionTexts::QuestionTexts(data::DataSet& data_set, std::int64_t first, std::int64_t count)
    : first_(first),
      ids_(data::read_ragged(data_set, "/units/id", first, count)),
      paragraphs_(read_table(data_set, "/units/paragraph", first, count)),
      first_answers_(read_table(data_set, "/units/first_answer", first, count + 1)) {
  if (count == 0) return;
  const auto [least, most] = std::ranges::minmax(paragraphs_);
  first_paragraph_ = least;
  contexts_ = data::read_ragged(data_set, "/paragraphs/text", least, most - least + 1);
  tokens_ = data::read_ragged(data_set, "/paragraphs/tokens", least, most - least + 1);
  if (!std::ranges::is_sorted(first_answers_)) {
    throw Error(ErrorKind::dataset,
                format("/units/first_answer does not ascend among questions {} to {}", first,
                       first + count - 1),
                "Prepare the data set again (data_tools/SCHEMA.md).");
  }
  const std::int64_t answer = first_answers_.front();
  answers_ = data::read_ragged(data_set, "/answers/text", answer, first_answers_.back() - answer);
}

tasks::Question QuestionTexts::question(std::int64_t unit) const {
  const std::int64_t i = unit - first_;
  const std::int64_t paragraph = paragraphs_.at(to_size(i)) - first_paragraph_;
  const auto tokens = tokens_.row(paragraph);
  tasks::Question question{.unit = unit,
                           .id = ids_.text(i),
                           .context = contexts_.text(paragraph),
                           .tokens = {reinterpret_cast<const tasks::TokenBytes*>(tokens.data()),
                                      tokens.size() / sizeof(tasks::TokenBytes)},
                           .golds = {}};
  for (std::int64_t answer = first_answers_[to_size(i)]; answer < first_answers_[to_size(i) + 1];
       ++answer) {
    question.golds.emplace_back(answers_.text(answer - first_answers_.front()));
  }
  return question;
}

}  // namespace tally::app
