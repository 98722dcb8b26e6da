#include "score_texts.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/ragged.hpp>

#include "listed_ids.hpp"
#include "local_result.hpp"
#include "question_texts.hpp"
#include "questions.hpp"
#include "saved_scores.hpp"

namespace tally::app {
namespace {

std::string listed_of(const std::vector<std::string>& ids, std::int64_t count) {
  return listed(ids, std::ssize(ids) == count);
}

void add_note(EvaluationSession& session, std::string note) {
  log::note(note);
  session.notes.push_back(std::move(note));
}

// One rank's questions.
class TextScorer {
 public:
  TextScorer(EvaluationSession& session, LocalResult& result, IdsFound& ids)
      : session_(session), task_(*answers_of(session)), result_(result), ids_(ids) {
    ids_.is_asked.assign(session.saved.texts->size(), 0);
  }

  void score(plan::SampleRange units) {
    const QuestionTexts texts(*session_.data.set, units.first, units.count);
    predictions::RecordBatch records, kept;
    for (std::int64_t unit = units.first; unit < units.end(); ++unit) {
      const tasks::Question question = texts.question(unit);
      const tasks::Answer answer = answer_to(question);
      const metrics::SampleRow sample{answer.row.index};
      task_.count({&sample, 1}, result_.state);
      task_.count({&answer.row, 1}, result_.state);
      task_.keep(answer.row, kept);
      if (!result_.log.columns().empty()) {
        append_answer(question, answer, task_.policy(), records);
      }
    }
    if (kept.num_rows > 0) result_.kept.append(kept);
    if (records.num_rows > 0) result_.log.append(records);
  }

 private:
  // A question without a text counts as wrong, also one that has no answer: nobody said so.
  tasks::Answer answer_to(const tasks::Question& question) {
    if (const auto place = place_of(*session_.saved.texts, question.id)) {
      ids_.is_asked[*place] = 1;
      return answer_of((*session_.saved.texts)[*place].second, question, task_.policy());
    }
    ++ids_.num_missing;
    if (ids_.first_missing.size() < kIdsListed) ids_.first_missing.emplace_back(question.id);
    tasks::Answer none = answer_of(std::string(), question, task_.policy());
    none.row.exact = false;
    none.row.f1 = 0;
    return none;
  }

  EvaluationSession& session_;
  const tasks::AnswerTask& task_;
  LocalResult& result_;
  IdsFound& ids_;
};

// Says which texts the questions `units` ask for.
void mark_asked(EvaluationSession& session, plan::SampleRange units, IdsFound& ids) {
  const auto asked = data::read_ragged(*session.data.set, "/units/id", units.first, units.count);
  for (std::int64_t i = 0; i < units.count; ++i) {
    if (const auto place = place_of(*session.saved.texts, asked.text(i))) ids.is_asked[*place] = 1;
  }
}

// Behind --limit: they are not scored, but no foreign ones. Each rank looks at some.
void mark_unscored(const comm::Communicator& comm, EvaluationSession& session, IdsFound& ids) {
  constexpr std::int64_t kPiece = 256;
  const std::int64_t all = session.data.set->info().num_units;
  const std::int64_t begin = session.plan.grid->num_samples() + comm.rank() * kPiece;
  for (std::int64_t first = begin; first < all; first += kPiece * comm.world_size()) {
    mark_asked(session, {first, std::min(kPiece, all - first)}, ids);
  }
}

}  // namespace

LocalResult score_texts(EvaluationSession& session, evaluate::Observer& observer, IdsFound& ids) {
  LocalResult result =
      empty_result(session, session.scoring.task->columns(), session.scoring.task->kept_columns());
  TextScorer scorer(session, result, ids);
  for (std::int64_t batch = session.plan.slice.first; batch < session.plan.slice.end(); ++batch) {
    const plan::SampleRange units = session.plan.grid->samples_of(batch);
    scorer.score(units);
    result.loop.findings.samples += units.count;
    observer.batch_done(result.loop.findings.samples, result.state);
  }
  return result;
}

report::IdMatch match_ids(const comm::Communicator& comm, EvaluationSession& session,
                          IdsFound& local) {
  report::IdMatch match;
  comm::agree_on(comm, [&] { mark_unscored(comm, session, local); });
  comm.sum_in_place(local.is_asked);
  const nlohmann::json missing{{"count", local.num_missing}, {"first", local.first_missing}};
  for (const std::string& of_rank :
       comm.gather(missing.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    const auto found = nlohmann::json::parse(of_rank);
    match.num_missing += found["count"].get<std::int64_t>();
    for (const auto& id : found["first"]) match.first_missing.push_back(id.get<std::string>());
  }
  match.first_missing.resize(std::min(match.first_missing.size(), kIdsListed));
  auto asked = local.is_asked.begin();
  for (const auto& [id, text] : *session.saved.texts) {
    if (*asked++ > 0) continue;
    ++match.num_foreign;
    if (match.first_foreign.size() < kIdsListed) match.first_foreign.push_back(id);
  }
  if (!comm.is_root()) return match;
  if (match.num_foreign > 0) {
    add_note(session,
             format("{} predictions are for ids that the data set does not have, and do not "
                    "count: {}",
                    match.num_foreign, listed_of(match.first_foreign, match.num_foreign)));
  }
  if (match.num_missing > 0) {
    add_note(session, format("{} questions have no prediction, and count as wrong: {}",
                             match.num_missing, listed_of(match.first_missing, match.num_missing)));
  }
  return match;
}

}  // namespace tally::app
