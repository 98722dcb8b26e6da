// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/question_units.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>
#include <tally/distributed_metrics/gather_margins.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/ordered_metrics/no_answer_threshold.hpp>

namespace tally::app {

QuestionTexts::QuestionTexts(data::DataSet& data_set, std::int64_t first, std::int64_t count)
    : first_(first),
      ids_(data::read_ragged(data_set, "/units/id", first, count)),
      rows_(data::read_questions(data_set, first, count)) {
  if (count == 0) return;
  const auto& paragraphs = rows_.paragraphs;
  // Neighbouring questions share paragraphs, so that each paragraph is read once for all of them. A
  // run ends where the numbers of paragraphs leave a gap: texts that no question needs are not
  // read.
  for (std::size_t i = 0; i < paragraphs.size();) {
    const std::size_t begin = i;
    while (++i < paragraphs.size() && paragraphs[i] <= paragraphs[i - 1] + 1) {
    }
    const std::int64_t paragraph = paragraphs[begin];
    const std::int64_t num = paragraphs[i - 1] - paragraph + 1;
    runs_.push_back({paragraph, data::read_ragged(data_set, "/paragraphs/text", paragraph, num),
                     data::read_ragged(data_set, "/paragraphs/tokens", paragraph, num)});
  }
  const std::int64_t answer = rows_.first_answers.front();
  answers_ =
      data::read_ragged(data_set, "/answers/text", answer, rows_.first_answers.back() - answer);
}

tasks::Question QuestionTexts::question(std::int64_t unit) const {
  const std::int64_t i = unit - first_;
  const std::int64_t paragraph = rows_.paragraphs.at(to_size(i));
  // The constructor made a run for every paragraph of its questions, so that the last run that does
  // not begin behind this paragraph holds it.
  const auto behind = std::ranges::upper_bound(runs_, paragraph, {}, &Run::first);
  const Run& run = *std::prev(behind);
  // A row of /paragraphs/tokens is int32 [tokens, 2], which is the layout of TokenBytes.
  const auto tokens = run.tokens.row(paragraph - run.first);
  tasks::Question question{.unit = unit,
                           .id = ids_.text(i),
                           .context = run.contexts.text(paragraph - run.first),
                           .tokens = {reinterpret_cast<const tasks::TokenBytes*>(tokens.data()),
                                      tokens.size() / sizeof(tasks::TokenBytes)},
                           .golds = {}};
  for (std::int64_t answer = rows_.first_answers[to_size(i)];
       answer < rows_.first_answers[to_size(i) + 1]; ++answer) {
    question.golds.emplace_back(answers_.text(answer - rows_.first_answers.front()));
  }
  return question;
}

namespace {

using predictions::RecordBatch;
using tasks::AnswerCandidates;

// Returns the two JSON files of a result as ragged columns of bytes. They are written together with
// predictions.h5, and not without it.
std::vector<predictions::ColumnSpec> text_columns(const EvaluationSession& session) {
  if (session.scoring.task->columns().empty()) return {};
  return {{"predictions.json", DType::u8, {}, true}, {"nbest.json", DType::u8, {}, true}};
}

// Metrics at the best threshold need the margin of every question on rank 0, 24 bytes each: margins
// are recorded only where such a metric is wanted.
bool wants_best(const EvaluationSession& session) {
  return std::ranges::any_of(session.scoring.task->metrics(),
                             [](const std::string& name) { return name.starts_with("best_"); });
}

}  // namespace

const tasks::AnswerTask* answers_of(const EvaluationSession& session) {
  const tasks::UnitTask units = session.scoring.capabilities().units;
  const auto* const found = std::get_if<const tasks::AnswerTask*>(&units);
  return found == nullptr ? nullptr : *found;
}

Questions::Questions(const EvaluationSession& session, LocalUnits& units)
    : session_(session),
      task_(*answers_of(session)),
      units_(units),
      texts_(empty_log(session, text_columns(session))) {}

std::vector<UnitSample<AnswerCandidates>> Questions::samples_in(const RecordBatch& window) const {
  std::vector<UnitSample<AnswerCandidates>> samples;
  for (auto& record : records_in(window.columns.at(0), task_.limits())) {
    AnswerCandidates& found = record.candidates;
    samples.push_back({record.index, found.finite, {found.unit, std::move(found)}});
  }
  return samples;
}

void Questions::merge(const AnswerCandidates& more, AnswerCandidates& found) const {
  tasks::merge(more, task_.limits(), found);
}

// The index of a sample is left out (0): what is packed may come from several samples, and merging
// does not need it.
void Questions::pack(const AnswerCandidates& found, std::vector<std::byte>& bytes) const {
  append_record(0, found, task_.limits(), bytes);
}

AnswerCandidates Questions::unpack(std::span<const std::byte> bytes) const {
  return std::move(records_in(bytes, task_.limits()).front().candidates);
}

// A question that --limit cut is answered from the windows that there are, so that `cut` is not
// used.
void Questions::score(std::span<const UnitPart<AnswerCandidates>> parts, std::int64_t /*cut*/,
                      predictions::PredictionLog& log, predictions::PredictionLog& retained) {
  const QuestionTexts texts(*session_.data.set, parts.front().unit, std::ssize(parts));
  for (const auto& [unit, candidates] : parts) {
    const tasks::Question question = texts.question(unit);
    const tasks::Answer answer = answer_of(candidates, question, task_.policy());
    task_.count({&answer.row, 1}, units_.state);
    keep_margin(answer);
    // Answers are appended one by one: texts may be long, and the logs move to disk what outgrows
    // their memory.
    RecordBatch record, row, lines;
    task_.retain(answer.row, row);
    if (row.num_rows > 0) retained.append(row);
    if (log.columns().empty()) continue;
    append_answer(question, answer, task_.policy(), record);
    append_lines(question, answer, candidates, lines);
    log.append(record);
    texts_.append(lines);
  }
}

void Questions::finish() { units_.texts.emplace(std::move(texts_)); }

void Questions::keep_margin(const tasks::Answer& answer) {
  if (!wants_best(session_)) return;
  // A question whose scores are not finite is wrong at every threshold. It is entered as one that
  // has an answer: then it counts 0 where it is not answered, and where it is, since its span
  // counts 0 too.
  const bool can_only_be_wrong = answer.row.has_answer || !answer.row.finite;
  units_.margins.push_back({answer.no_answer_margin, answer.span_f1, answer.span_exact ? 1 : 0,
                            can_only_be_wrong ? 1 : 0});
}

void Questions::append_lines(const tasks::Question& question, const tasks::Answer& answer,
                             const AnswerCandidates& candidates, RecordBatch& lines) const {
  lines.columns.resize(2);
  lines.lengths.resize(2);
  // Separators are part of the lines: rank 0 writes the lines of all ranks one after the other and
  // adds nothing but the brackets. Only the first question of the whole data set has no comma
  // before it.
  const std::string_view separator = question.unit == 0 ? "\n" : ",\n";
  const auto append = [&](std::int64_t column, const std::string& text) {
    const std::string line = format("{}{}", separator, text);
    const auto bytes = std::as_bytes(std::span(line));
    auto& all = lines.columns[to_size(column)];
    all.insert(all.end(), bytes.begin(), bytes.end());
    lines.lengths[to_size(column)].push_back(std::ssize(line));
  };
  append(kPredictionsText, prediction_json(question, answer));
  append(kNbestText, nbest_json(candidates, question, task_.policy()));
  ++lines.num_rows;
}

void add_best_answers(const comm::Communicator& comm, const EvaluationSession& session,
                      const LocalUnits& local, metrics::Results& results, digest::Sha256& digest) {
  if (answers_of(session) == nullptr || !wants_best(session)) return;
  auto margins = distributed_metrics::gather_margins(comm, local.margins);
  if (!comm.is_root()) return;
  // Margins come in the order of the questions for any number of ranks, and AnswerMargin has no
  // padding: equal results are equal bytes.
  digest.update(std::as_bytes(std::span(margins)));
  const auto best = ordered_metrics::best_thresholds(std::move(margins));
  const auto add = [&](const char* name, const ordered_metrics::BestThreshold& found) {
    if (!metrics::contains(session.scoring.task->metrics(), name)) return;
    metrics::MetricValue value{.name = name, .value = found.value};
    value.threshold = {.score = std::nullopt, .margin = found.threshold};
    results.metrics.push_back(std::move(value));
  };
  add("best_exact_match", best.exact_match);
  add("best_f1", best.f1);
}

}  // namespace tally::app
