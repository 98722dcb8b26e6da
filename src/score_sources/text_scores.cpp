// SPDX-License-Identifier: Apache-2.0
#include "text_scores.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <tally/aggregate/question_units.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/column_values.hpp>
#include <tally/session/local_result.hpp>

#include "saved_scores.hpp"
#include "saved_texts.hpp"

namespace tally::app {
namespace {

std::string listed_of(const std::vector<std::string>& ids, std::int64_t count) {
  return listed(ids, std::ssize(ids) == count);
}

// The report lists the note at the end; the terminal shows it now.
void add_note(Notes& notes, std::string note) {
  log::note(note);
  notes.add(std::move(note));
}

// Says what the questions of a rank and the saved texts have in common.
struct IdsFound {
  std::vector<std::int64_t> is_asked;  // [texts], 1 where a question of this rank has the id
  std::int64_t num_missing = 0;        // questions without a text
  std::vector<std::string> first_missing;
};

// Scores one rank's questions.
class TextScorer {
 public:
  TextScorer(const EvaluationSession& session, const SavedTexts& texts, LocalSamples& result,
             IdsFound& ids)
      : session_(session), saved_(texts), task_(*answers_of(session)), result_(result), ids_(ids) {
    ids_.is_asked.assign(texts.size(), 0);
  }

  void score(plan::SampleRange units) {
    const QuestionTexts texts(*session_.data.set, units.first, units.count);
    predictions::RecordBatch records, retained;
    for (std::int64_t unit = units.first; unit < units.end(); ++unit) {
      const tasks::Question question = texts.question(unit);
      const tasks::Answer answer = answer_to(question);
      // A question is a sample of this run and a unit, and leaves evidence of both.
      const metrics::SampleRecord sample{answer.row.index};
      task_.count({&sample, 1}, result_.state);
      task_.count({&answer.row, 1}, result_.state);
      task_.retain(answer.row, retained);
      if (!result_.log.columns().empty()) {
        append_answer(question, answer, task_.policy(), records);
      }
    }
    if (retained.num_rows > 0) result_.retained.append(retained);
    if (records.num_rows > 0) result_.log.append(records);
  }

 private:
  // A question without a text counts as wrong, also one that has no answer: the file does not say
  // that it has none.
  tasks::Answer answer_to(const tasks::Question& question) {
    if (const auto place = place_of(saved_, question.id)) {
      ids_.is_asked[*place] = 1;
      return answer_of(saved_[*place].second, question, task_.policy());
    }
    ++ids_.num_missing;
    if (ids_.first_missing.size() < kIdsListed) ids_.first_missing.emplace_back(question.id);
    tasks::Answer none = answer_of(std::string(), question, task_.policy());
    none.row.exact = false;
    none.row.f1 = 0;
    return none;
  }

  const EvaluationSession& session_;
  const SavedTexts& saved_;
  const tasks::AnswerTask& task_;
  LocalSamples& result_;
  IdsFound& ids_;
};

// Says which texts the questions `units` ask for.
void mark_asked(data::DataSet& set, plan::SampleRange units, const SavedTexts& texts,
                IdsFound& ids) {
  const auto asked = data::read_ragged(set, "/units/id", units.first, units.count);
  for (std::int64_t i = 0; i < units.count; ++i) {
    if (const auto place = place_of(texts, asked.text(i))) ids.is_asked[*place] = 1;
  }
}

// Marks texts for questions behind --limit, which are not scored, but are not foreign either. The
// ranks share these questions in pieces.
void mark_unscored(const comm::Communicator& comm, const EvaluationSession& session,
                   const SavedTexts& texts, IdsFound& ids) {
  constexpr std::int64_t kPiece = 256;
  const std::int64_t all = session.data.set->info().num_units;
  const std::int64_t begin = session.plan.grid->num_samples() + comm.rank() * kPiece;
  for (std::int64_t first = begin; first < all; first += kPiece * comm.world_size()) {
    mark_asked(*session.data.set, {first, std::min(kPiece, all - first)}, texts, ids);
  }
}

// Collective. Adds up the questions without a text on rank 0.
void gather_missing(const comm::Communicator& comm, const IdsFound& local, report::IdMatch& match) {
  // Ids of the data set may be no valid UTF-8, at which dump() would throw without `replace`.
  const nlohmann::json missing{{"count", local.num_missing}, {"first", local.first_missing}};
  for (const std::string& of_rank :
       comm.gather(missing.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    const auto found = nlohmann::json::parse(of_rank);
    match.num_missing += found["count"].get<std::int64_t>();
    for (const auto& id : found["first"]) match.first_missing.push_back(id.get<std::string>());
  }
  match.first_missing.resize(std::min(match.first_missing.size(), kIdsListed));
}

void note_ids(const report::IdMatch& match, Notes& notes) {
  if (match.num_foreign > 0) {
    add_note(notes, format("{} predictions are for ids that the data set does not have, and do not "
                           "count: {}",
                           match.num_foreign, listed_of(match.first_foreign, match.num_foreign)));
  }
  if (match.num_missing > 0) {
    add_note(notes, format("{} questions have no prediction, and count as wrong: {}",
                           match.num_missing, listed_of(match.first_missing, match.num_missing)));
  }
}

class TextScores final : public ScoreSource {
 public:
  explicit TextScores(SavedTexts texts) : texts_(std::move(texts)) {}

  bool runs_predictor() const override { return false; }
  bool is_rescoring_units() const override { return true; }

  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override {
    const auto& task = *session.scoring.task;
    LocalSamples result = empty_samples(session, task.columns(), task.retained_columns());
    ids_ = {};
    TextScorer scorer(session, texts_, result, ids_);
    const auto& slice = session.plan.slice;
    for (std::int64_t batch = slice.first; batch < slice.end(); ++batch) {
      const plan::SampleRange units = session.plan.grid->samples_of(batch);
      scorer.score(units);
      result.loop.stats.samples += units.count;
      observer.batch_done(result.loop.stats.samples, result.state);
    }
    return result;
  }

  std::optional<report::IdMatch> match_ids(const comm::Communicator& comm,
                                           const EvaluationSession& session,
                                           Notes& notes) override {
    report::IdMatch match;
    comm::agree_on(comm, [&] { mark_unscored(comm, session, texts_, ids_); });
    // All ranks have the same texts in the same order. A text is foreign if no rank has its
    // question.
    comm.sum_in_place(ids_.is_asked);
    gather_missing(comm, ids_, match);
    auto asked = ids_.is_asked.begin();
    for (const auto& [id, text] : texts_) {
      if (*asked++ > 0) continue;
      ++match.num_foreign;
      if (match.first_foreign.size() < kIdsListed) match.first_foreign.push_back(id);
    }
    if (comm.is_root()) note_ids(match, notes);
    return match;
  }

 private:
  SavedTexts texts_;
  IdsFound ids_;  // of the last call of score()
};

}  // namespace

std::unique_ptr<ScoreSource> text_scores(SavedTexts texts) {
  return std::make_unique<TextScores>(std::move(texts));
}

}  // namespace tally::app
