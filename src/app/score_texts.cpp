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
#include "question_texts.hpp"
#include "questions.hpp"
#include "run_loop.hpp"
#include "saved_scores.hpp"

namespace tally::app {
namespace {

std::string listed_of(const std::vector<std::string>& ids, std::int64_t count) {
  return listed(ids, std::ssize(ids) == count);
}

void add_note(Job& job, std::string note) {
  log::note(note);
  job.notes.push_back(std::move(note));
}

// One rank's questions.
class TextScorer {
 public:
  TextScorer(Job& job, LoopResult& result, IdsFound& ids)
      : job_(job), task_(*answers_of(job)), result_(result), ids_(ids) {
    ids_.is_asked.assign(job.saved_texts->size(), 0);
  }

  void score(plan::SampleRange units) {
    const QuestionTexts texts(*job_.data.set, units.first, units.count);
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
    if (const auto place = place_of(*job_.saved_texts, question.id)) {
      ids_.is_asked[*place] = 1;
      return answer_of((*job_.saved_texts)[*place].second, question, task_.policy());
    }
    ++ids_.num_missing;
    if (ids_.first_missing.size() < kIdsListed) ids_.first_missing.emplace_back(question.id);
    tasks::Answer none = answer_of(std::string(), question, task_.policy());
    none.row.exact = false;
    none.row.f1 = 0;
    return none;
  }

  Job& job_;
  const tasks::AnswerTask& task_;
  LoopResult& result_;
  IdsFound& ids_;
};

// Says which texts the questions `units` ask for.
void mark_asked(Job& job, plan::SampleRange units, IdsFound& ids) {
  const auto asked = data::read_ragged(*job.data.set, "/units/id", units.first, units.count);
  for (std::int64_t i = 0; i < units.count; ++i) {
    if (const auto place = place_of(*job.saved_texts, asked.text(i))) ids.is_asked[*place] = 1;
  }
}

// Behind --limit: they are not scored, but no foreign ones. Each rank looks at some.
void mark_unscored(const comm::Communicator& comm, Job& job, IdsFound& ids) {
  constexpr std::int64_t kPiece = 256;
  const std::int64_t all = job.data.set->info().num_units;
  const std::int64_t begin = job.grid->num_samples() + comm.rank() * kPiece;
  for (std::int64_t first = begin; first < all; first += kPiece * comm.world_size()) {
    mark_asked(job, {first, std::min(kPiece, all - first)}, ids);
  }
}

}  // namespace

LoopResult score_texts(Job& job, evaluate::Observer& observer, IdsFound& ids) {
  LoopResult result = fresh_result(job, job.task->columns(), job.task->kept_columns());
  TextScorer scorer(job, result, ids);
  for (std::int64_t batch = job.slice.first; batch < job.slice.end(); ++batch) {
    const plan::SampleRange units = job.grid->samples_of(batch);
    scorer.score(units);
    result.findings.samples += units.count;
    observer.batch_done(result.findings.samples, result.state);
  }
  return result;
}

report::IdMatch match_ids(const comm::Communicator& comm, Job& job, IdsFound& mine) {
  report::IdMatch match;
  comm::agree_on(comm, [&] { mark_unscored(comm, job, mine); });
  comm.sum_in_place(mine.is_asked);
  const nlohmann::json missing{{"count", mine.num_missing}, {"first", mine.first_missing}};
  for (const std::string& of_rank :
       comm.gather(missing.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    const auto found = nlohmann::json::parse(of_rank);
    match.num_missing += found["count"].get<std::int64_t>();
    for (const auto& id : found["first"]) match.first_missing.push_back(id.get<std::string>());
  }
  match.first_missing.resize(std::min(match.first_missing.size(), kIdsListed));
  auto asked = mine.is_asked.begin();
  for (const auto& [id, text] : *job.saved_texts) {
    if (*asked++ > 0) continue;
    ++match.num_foreign;
    if (match.first_foreign.size() < kIdsListed) match.first_foreign.push_back(id);
  }
  if (!comm.is_root()) return match;
  if (match.num_foreign > 0) {
    add_note(job, format("{} predictions are for ids that the data set does not have, and do not "
                         "count: {}",
                         match.num_foreign, listed_of(match.first_foreign, match.num_foreign)));
  }
  if (match.num_missing > 0) {
    add_note(job, format("{} questions have no prediction, and count as wrong: {}",
                         match.num_missing, listed_of(match.first_missing, match.num_missing)));
  }
  return match;
}

}  // namespace tally::app
