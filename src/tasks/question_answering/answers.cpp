// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/answers.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "column.hpp"
#include "question_answering/squad_scores.hpp"

namespace tally::tasks {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPrepareAgain = "Prepare the data set again (data_tools/SCHEMA.md).";

// A data set where a question may have no answer is scored by the rules of SQuAD v2.0, any other by
// those of v1.1.
AnswerRules rules_of(const AnswerPolicy& policy) {
  return policy.no_answer ? AnswerRules::squad_v2 : AnswerRules::squad_v1;
}

// Returns the bytes of a span in the context. The tokens of windows and those of paragraphs are
// separate tables, so that they may contradict each other: Error(dataset) names the question.
TokenBytes bytes_of(const AnswerSpan& span, const Question& question) {
  const auto token = [&](std::int32_t number) {
    if (number >= 0 && std::cmp_less(number, question.tokens.size())) {
      return question.tokens[to_size(number)];
    }
    throw Error(ErrorKind::dataset,
                format("question {} ('{}') has a window with token {} of a paragraph of {} tokens",
                       question.unit, printable(question.id), number, question.tokens.size()),
                kPrepareAgain);
  };
  const TokenBytes bytes{token(span.first_token).begin, token(span.last_token).end};
  if (bytes.begin >= 0 && bytes.begin <= bytes.end &&
      std::cmp_less_equal(bytes.end, question.context.size())) {
    return bytes;
  }
  throw Error(ErrorKind::dataset,
              format("question {} ('{}') has tokens at bytes {} to {} of a context of {} bytes",
                     question.unit, printable(question.id), bytes.begin, bytes.end,
                     question.context.size()),
              kPrepareAgain);
}

std::string text_of(const AnswerSpan& span, const Question& question) {
  const TokenBytes bytes = bytes_of(span, question);
  return std::string(
      question.context.substr(to_size(bytes.begin), to_size(bytes.end - bytes.begin)));
}

metrics::QuestionAnsweringRecord row_of(const std::string& text, const Question& question,
                                        const AnswerPolicy& policy) {
  const AnswerScore score = score_answer(text, question.golds, rules_of(policy));
  return {.index = checked_cast<std::uint64_t>(question.unit),
          .has_answer = !policy.no_answer || !question.golds.empty(),
          .exact = score.exact,
          .finite = true,
          .f1 = score.f1};
}

// Texts are cut at bytes of tokens, which need not be whole characters of UTF-8: the library would
// throw there unless it is asked to replace them.
std::string as_json(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// An entry is one line of nbest.json before its probability is known.
struct Entry {
  std::string text;
  double start_logit = 0, end_logit = 0;
  double score() const { return start_logit + end_logit; }
};

// Returns the entries, the best first, and at least one: without any span that of no answer.
std::vector<Entry> entries_of(const AnswerCandidates& candidates, const Question& question,
                              const AnswerPolicy& policy) {
  std::vector<Entry> entries;
  for (const AnswerSpan& span : candidates.best) {
    entries.push_back({text_of(span, question), span.start_logit, span.end_logit});
  }
  if (policy.no_answer || entries.empty()) {
    const Entry none{"", candidates.no_answer_start, candidates.no_answer_end};
    // Of equal scores the span comes first, as in answer_of() with a threshold of 0.
    const auto place = std::ranges::find_if(
        entries, [&](const Entry& entry) { return entry.score() < none.score(); });
    entries.insert(place, none);
  }
  return entries;
}

// This is the softmax of the scores. The largest is subtracted, so that exp() cannot overflow;
// entries are sorted, so that it is the first.
std::vector<double> probabilities_of(const std::vector<Entry>& entries) {
  std::vector<double> shares;
  double sum = 0;
  const double best = entries.front().score();
  for (const Entry& entry : entries) {
    // The difference of two equal infinities is NaN, hence the case of its own.
    shares.push_back(entry.score() == best ? 1.0 : std::exp(entry.score() - best));  // also of -Inf
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

Answer answer_of(const AnswerCandidates& candidates, const Question& question,
                 const AnswerPolicy& policy) {
  Answer answer;
  if (!candidates.best.empty()) {
    answer.span = candidates.best.front();
    answer.text = text_of(*answer.span, question);
    answer.no_answer_margin = candidates.no_answer_score() - answer.span->score();
  }
  answer.row = row_of(answer.text, question, policy);
  // The worth of the best span is kept apart from the threshold: the best of all thresholds is
  // found by it after the loop.
  answer.span_exact = answer.row.exact;
  answer.span_f1 = answer.row.f1;
  // Without a span the text is empty already, which is the answer that there is none.
  if (policy.no_answer && answer.no_answer_margin > policy.no_answer_threshold) {
    answer.text.clear();
    answer.row = row_of(answer.text, question, policy);
  }
  answer.row.finite = candidates.finite;
  if (!candidates.finite) {  // no answer was given, not even that there is none
    answer.row.exact = answer.span_exact = false;
    answer.row.f1 = answer.span_f1 = 0;
  }
  return answer;
}

Answer answer_of(std::string text, const Question& question, const AnswerPolicy& policy) {
  Answer answer;
  answer.row = row_of(text, question, policy);
  answer.span_exact = answer.row.exact;
  answer.span_f1 = answer.row.f1;
  answer.text = std::move(text);
  return answer;
}

std::vector<predictions::ColumnSpec> answer_columns(const AnswerPolicy& policy) {
  // The columns are in order of their names, and append_answer() fills them in that order.
  std::vector<predictions::ColumnSpec> columns{{"exact_match", DType::u8, {}},
                                               {"f1", DType::f64, {}},
                                               {"id", DType::u8, {}, true},
                                               {"index", DType::i64, {}},
                                               {"no_answer_margin", DType::f64, {}},
                                               {"prediction", DType::u8, {}, true},
                                               {"score", DType::f64, {}},
                                               {"span", DType::i32, {2}}};
  std::erase_if(columns, [&](const predictions::ColumnSpec& column) {
    const bool is_of_spans = column.name == "score" || column.name == "span";
    return (column.name == "no_answer_margin" && !(policy.no_answer && policy.has_spans)) ||
           (is_of_spans && !policy.has_spans);
  });
  return columns;
}

void append_answer(const Question& question, const Answer& answer, const AnswerPolicy& policy,
                   predictions::RecordBatch& records) {
  const auto columns = answer_columns(policy);
  records.columns.resize(columns.size());
  records.lengths.resize(columns.size());
  const TokenBytes bytes = answer.span ? bytes_of(*answer.span, question) : TokenBytes{-1, -1};
  std::size_t c = 0;
  append_value(records.columns[c++], static_cast<std::uint8_t>(answer.row.exact));
  append_value(records.columns[c++], answer.row.f1);
  append_text(question.id, c++, records);
  append_value(records.columns[c++], question.unit);
  if (policy.no_answer && policy.has_spans) {
    append_value(records.columns[c++], answer.no_answer_margin);
  }
  append_text(answer.text, c++, records);
  ++records.num_rows;
  // Saved texts have no logits: the last two columns do not exist then.
  if (!policy.has_spans) return;
  append_value(records.columns[c++], answer.span ? answer.span->score() : 0.0);
  append_value(records.columns[c++], bytes);
}

std::string prediction_json(const Question& question, const Answer& answer) {
  return format("{}: {}", as_json(question.id), as_json(answer.text));
}

std::string nbest_json(const AnswerCandidates& candidates, const Question& question,
                       const AnswerPolicy& policy) {
  // The library writes null for a logit that is NaN or infinite, which JSON cannot hold.
  const auto entries = entries_of(candidates, question, policy);
  const auto probabilities = probabilities_of(entries);
  Json list = Json::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    list.push_back({{"text", entries[i].text},
                    {"probability", probabilities[i]},
                    {"start_logit", entries[i].start_logit},
                    {"end_logit", entries[i].end_logit}});
  }
  return format("{}: {}", as_json(question.id),
                list.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace tally::tasks
