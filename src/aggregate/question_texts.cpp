#include <tally/aggregate/question_texts.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/read_column.hpp>

namespace tally::app {
namespace {

void require(bool holds, std::string_view problem, std::int64_t first, std::int64_t count) {
  if (holds) return;
  throw Error(ErrorKind::dataset,
              format("{} (questions {} to {})", problem, first, first + count - 1),
              "Prepare the data set again (data_tools/SCHEMA.md).");
}

// From the first answer to the last; each question has one, where none may be without.
bool are_answers(const data::DataSetInfo& info, std::int64_t first,
                 std::span<const std::int64_t> first_answers) {
  const auto is_wrong = [&](std::int64_t a, std::int64_t b) {
    return info.no_answer ? b < a : b <= a;
  };
  const std::int64_t all = info.table("/answers/text/offsets").num_rows - 1;
  const bool has_last = first + std::ssize(first_answers) == info.num_units + 1;
  return std::ranges::adjacent_find(first_answers, is_wrong) == first_answers.end() &&
         (first != 0 || first_answers.front() == 0) && (!has_last || first_answers.back() == all);
}

}  // namespace

QuestionTexts::QuestionTexts(data::DataSet& data_set, std::int64_t first, std::int64_t count)
    : first_(first),
      ids_(data::read_ragged(data_set, "/units/id", first, count)),
      paragraphs_(data::read_column<std::int64_t>(
          data_set, data_set.info().table("/units/paragraph"), first, count)),
      first_answers_(data::read_column<std::int64_t>(
          data_set, data_set.info().table("/units/first_answer"), first, count + 1)) {
  if (count == 0) return;
  require(std::ranges::is_sorted(paragraphs_), "/units/paragraph descends", first, count);
  require(are_answers(data_set.info(), first, first_answers_),
          "/units/first_answer does not name the answers one after the other", first, count);
  for (std::size_t i = 0; i < paragraphs_.size();) {
    const std::size_t begin = i;
    while (++i < paragraphs_.size() && paragraphs_[i] <= paragraphs_[i - 1] + 1) {
    }
    const std::int64_t paragraph = paragraphs_[begin];
    const std::int64_t num = paragraphs_[i - 1] - paragraph + 1;
    runs_.push_back({paragraph, data::read_ragged(data_set, "/paragraphs/text", paragraph, num),
                     data::read_ragged(data_set, "/paragraphs/tokens", paragraph, num)});
  }
  const std::int64_t answer = first_answers_.front();
  answers_ = data::read_ragged(data_set, "/answers/text", answer, first_answers_.back() - answer);
}

tasks::Question QuestionTexts::question(std::int64_t unit) const {
  const std::int64_t i = unit - first_;
  const std::int64_t paragraph = paragraphs_.at(to_size(i));
  const auto behind = std::ranges::upper_bound(runs_, paragraph, {}, &Run::first);
  const Run& run = *std::prev(behind);
  const auto tokens = run.tokens.row(paragraph - run.first);
  tasks::Question question{.unit = unit,
                           .id = ids_.text(i),
                           .context = run.contexts.text(paragraph - run.first),
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
