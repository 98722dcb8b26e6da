#include "questions.hpp"

#include <algorithm>
#include <functional>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/metrics/names.hpp>
#include <tally/tasks/answers.hpp>

#include "kept_rows.hpp"
#include "question_texts.hpp"

namespace tally::app {
namespace {

using predictions::PredictionLog;
using predictions::RecordBatch;
using tasks::AnswerCandidates;

// Whose texts are held at a time.
constexpr std::size_t kQuestionsAtATime = 256;

// The question of a sample.
std::int64_t unit_of(const Job& job, std::int64_t sample) {
  const auto& info = job.data.set->info();
  const auto column = std::ranges::find(info.targets, "unit", &data::ColumnInfo::name);
  std::int64_t unit = 0;
  job.data.set->read_rows(*column, sample, 1, std::as_writable_bytes(std::span(&unit, 1)));
  return unit;
}

bool wants_best(const Job& job) {
  return std::ranges::any_of(job.task->metrics(),
                             [](const std::string& name) { return name.starts_with("best_"); });
}

// One rank's questions: those whose first window is its own.
class Questions {
 public:
  Questions(Job& job, LoopResult& mine)
      : job_(job),
        task_(*job.task->answers()),
        mine_(mine),
        log_(job.task->columns(), spill_folder(job.config), kLogMemoryBytes),
        kept_(job.task->kept_columns(), spill_folder(job.config), kLogMemoryBytes),
        texts_(text_columns(job), spill_folder(job.config), kLogMemoryBytes) {
    const auto samples = job.grid->samples_of(job.slice);
    if (samples.count == 0) return;
    if (samples.first > 0) last_unit_ = unit_of(job, samples.first - 1);
    mine.first_index = last_unit_ + 1;
  }

  void take_windows() {
    evaluate::for_each_window(kept_samples(job_, mine_), [&](std::int64_t, const auto& window) {
      for (auto& record : records_in(window.columns.at(0), task_.limits())) take(std::move(record));
    });
  }

  // What belongs to the last question of an earlier rank: a record, or nothing.
  std::vector<std::byte> head() const {
    std::vector<std::byte> record;
    if (head_) append_record(0, *head_, task_.limits(), record);
    return record;
  }

  // heads: those of all ranks.
  void finish(std::span<const std::byte> heads) {
    for (const auto& record : records_in(heads, task_.limits())) {
      if (open_ && record.candidates.unit == open_->unit) {
        merge(record.candidates, task_.limits(), *open_);
      }
    }
    if (open_) owned_.push_back(std::move(*open_));
    score_owned();
    check_end();
    mine_.log = std::move(log_);
    mine_.kept = std::move(kept_);
    mine_.texts.emplace(std::move(texts_));
  }

 private:
  static std::vector<predictions::ColumnSpec> text_columns(const Job& job) {
    if (job.task->columns().empty()) return {};
    return {{"predictions.json", DType::u8, {}, true}, {"nbest.json", DType::u8, {}, true}};
  }

  void take(tasks::AnswerRecord record) {
    const metrics::SampleRow row{checked_cast<std::uint64_t>(record.index),
                                 record.candidates.finite};
    task_.count({&row, 1}, mine_.state);
    if (record.candidates.unit != last_unit_) return begin(std::move(record));
    auto& question = open_ ? open_ : head_;
    if (question) {
      merge(record.candidates, task_.limits(), *question);
    } else {
      question = std::move(record.candidates);
    }
  }

  void begin(tasks::AnswerRecord record) {
    if (record.candidates.unit != last_unit_ + 1) {
      throw Error(ErrorKind::dataset,
                  format("/targets/unit[{}] = {} after {}, expected the same or the next question",
                         record.index, record.candidates.unit, last_unit_),
                  "Prepare the data set again (data_tools/SCHEMA.md).");
    }
    if (open_) owned_.push_back(std::move(*open_));
    if (owned_.size() >= kQuestionsAtATime) score_owned();
    last_unit_ = record.candidates.unit;
    mine_.unit_samples.push_back(record.index);
    open_ = std::move(record.candidates);
  }

  void check_end() const {
    const auto& info = job_.data.set->info();
    const auto samples = job_.grid->samples_of(job_.slice);
    const bool has_last = samples.count > 0 && samples.end() == info.num_samples;
    if (!has_last || last_unit_ == info.num_units - 1) return;
    throw Error(ErrorKind::dataset,
                format("/targets/unit ends with {}, but there are {} questions", last_unit_,
                       info.num_units),
                "Prepare the data set again (data_tools/SCHEMA.md).");
  }

  void score_owned() {
    if (owned_.empty()) return;
    const QuestionTexts texts(*job_.data.set, owned_.front().unit, std::ssize(owned_));
    for (const AnswerCandidates& candidates : owned_) {
      const tasks::Question question = texts.question(candidates.unit);
      const tasks::Answer answer = answer_of(candidates, question, task_.policy());
      task_.count({&answer.row, 1}, mine_.state);
      keep_margin(answer);
      record(question, answer, candidates);
    }
    owned_.clear();
  }

  // One by one: texts may be long, and the logs know where to put them.
  void record(const tasks::Question& question, const tasks::Answer& answer,
              const AnswerCandidates& candidates) {
    RecordBatch records, kept, lines;
    task_.keep(answer.row, kept);
    if (kept.num_rows > 0) kept_.append(kept);
    if (log_.columns().empty()) return;
    append_answer(question, answer, task_.policy(), records);
    append_lines(question, answer, candidates, lines);
    log_.append(records);
    texts_.append(lines);
  }

  void keep_margin(const tasks::Answer& answer) {
    if (!wants_best(job_)) return;
    // Without scores it is wrong at every threshold: so is one that has an answer and gets none.
    const bool can_only_be_wrong = answer.row.has_answer || !answer.row.finite;
    mine_.margins.push_back({answer.no_answer_margin, answer.span_f1, answer.span_exact ? 1 : 0,
                             can_only_be_wrong ? 1 : 0});
  }

  void append_lines(const tasks::Question& question, const tasks::Answer& answer,
                    const AnswerCandidates& candidates, RecordBatch& lines) const {
    lines.columns.resize(2);
    lines.lengths.resize(2);
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

  Job& job_;
  const tasks::AnswerTask& task_;
  LoopResult& mine_;
  PredictionLog log_, kept_, texts_;
  std::int64_t last_unit_ = -1;  // of the sample before the one to come
  // The first windows may belong to the last question of an earlier rank.
  std::optional<AnswerCandidates> head_;
  std::optional<AnswerCandidates> open_;  // own, to which more windows may come
  std::vector<AnswerCandidates> owned_;   // complete
};

// Collective. One record at most of each rank, on every rank.
std::vector<std::byte> gather_heads(const comm::Communicator& comm,
                                    const std::vector<std::byte>& mine, std::int64_t record_bytes) {
  const auto counts = comm.all_gather(std::ssize(mine) / record_bytes);
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  std::vector<std::byte> all(to_size(total * record_bytes));
  comm.all_gather_rows(mine, record_bytes, counts, all);
  return all;
}

}  // namespace

std::int64_t count_units(const Job& job) {
  const auto& info = job.data.set->info();
  if (info.num_units == 0 || job.texts) return num_samples(job);
  return num_samples(job) == info.num_samples ? info.num_units
                                              : unit_of(job, num_samples(job) - 1) + 1;
}

void join_questions(const comm::Communicator& comm, Job& job, LoopResult& mine) {
  if (job.task->answers() == nullptr || job.texts) return;
  std::optional<Questions> questions;
  std::vector<std::byte> head;
  comm::agree_on(comm, [&] {
    questions.emplace(job, mine);
    questions->take_windows();
    head = questions->head();
  });
  const auto column = candidates_column(job.task->answers()->limits());
  const auto heads = gather_heads(comm, head, column.row_bytes());
  comm::agree_on(comm, [&] { questions->finish(heads); });
}

void add_best_answers(const comm::Communicator& comm, const Job& job, const LoopResult& mine,
                      metrics::Results& results, digest::Sha256& digest) {
  if (job.task->answers() == nullptr || !wants_best(job)) return;
  auto margins = exchange::gather_margins(comm, mine.margins);
  if (!comm.is_root()) return;
  digest.update(std::as_bytes(std::span(margins)));
  const auto best = exchange::best_thresholds(std::move(margins));
  const auto add = [&](const char* name, const exchange::BestThreshold& found) {
    if (!metrics::contains(job.task->metrics(), name)) return;
    metrics::MetricValue value{.name = name, .value = found.value};
    value.threshold = {.score = std::nullopt, .margin = found.threshold};
    results.metrics.push_back(std::move(value));
  };
  add("best_exact_match", best.exact_match);
  add("best_f1", best.f1);
}

}  // namespace tally::app
