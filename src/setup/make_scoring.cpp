// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/make_scoring.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/label_sets.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/session/local_result.hpp>

#include "class_weights_and_subgroups.hpp"

namespace tally::app {
namespace {

// Every rank holds the State, and the reducer adds up all of it.
constexpr std::int64_t kMaxStateBytes = std::int64_t{1} << 30;

tasks::SaveColumns save_columns(const std::string& word) {
  if (word == "topk") return tasks::SaveColumns::topk;
  if (word == "probabilities") return tasks::SaveColumns::probabilities;
  if (word == "masks") return tasks::SaveColumns::masks;
  return word == "logits" ? tasks::SaveColumns::logits : tasks::SaveColumns::labels;
}

// Takes --outputs, else what the card says, else logits. What a detector's scores are makes no
// difference.
metrics::OutputKind output_kind(const config::RunConfig& config, const std::string& task_name,
                                const std::optional<model::ModelCard>& card) {
  if (!config.scoring.outputs.empty()) {
    return metrics::output_kind_from_name(config.scoring.outputs);
  }
  if (is_task(task_name, TaskKind::detection)) return metrics::OutputKind::logits;
  if (card && !card->outputs.empty() && !card->outputs[0].kind.empty()) {
    return metrics::output_kind_from_name(card->outputs[0].kind);
  }
  return metrics::OutputKind::logits;
}

tasks::TaskOptions task_options(const config::RunConfig& config, const Scoring& scoring,
                                const data::DataSetInfo& info,
                                const std::vector<double>& class_weights,
                                const std::optional<model::ModelCard>& card) {
  tasks::TaskOptions options;
  options.task = scoring.task_name;
  options.outputs = scoring.outputs;
  options.metrics = {.task = options.task,
                     .num_classes = info.num_classes,
                     .ignore_index = info.ignore_index,
                     .confusion_max_classes = config.scoring.confusion_max_classes,
                     .names = config.scoring.names,
                     .definitions = metrics::definitions_from_name(config.scoring.definitions),
                     .calibration_bins = config.scoring.calibration_bins,
                     .label_smoothing = config.scoring.label_smoothing,
                     .class_weights = class_weights,
                     .threshold = config.scoring.threshold,
                     .maps = info.has_maps(),
                     .no_answer = info.no_answer,
                     // Saved predictions have no spans and no logits of answers.
                     .has_margins = config.files.predictions.empty(),
                     .class_names = info.class_names};
  options.threads = config.execution.threads;
  options.are_saved = !config.files.predictions.empty();
  options.answer_limits = {.max_tokens = config.answers.max_length,
                           .num_best = config.answers.n_best};
  options.answer_policy = {.no_answer = info.no_answer,
                           .no_answer_threshold = config.answers.no_answer_threshold,
                           .has_spans = config.files.predictions.empty()};
  // Subgroups and the bootstrap alone count rows once more.
  options.keep_rows = !info.columns.groups.empty() || config.results.intervals == "bootstrap";
  options.targets.clear();
  for (const auto& target : info.columns.targets) options.targets.push_back(target.name);
  if (card) {
    for (const auto& output : card->outputs) options.output_names.push_back(output.name);
  }
  for (const auto& word : config.results.save) {
    if (word != "none") options.save.push_back(save_columns(word));
  }
  return options;
}

void check_state_size(const exact::StateLayout& layout) {
  if (layout.num_bytes() <= kMaxStateBytes) return;
  throw Error(ErrorKind::usage,
              format("the counters would take {} MiB on every rank", layout.num_bytes() >> 20),
              "Ask for fewer --metrics, or lower --confusion-max-classes.");
}

// An image may be drawn several times; COCO's evaluation has each once.
void check_intervals(const tasks::Task& task, const std::string& intervals) {
  if (task.capabilities().detections == nullptr || intervals != "bootstrap") return;
  throw Error(ErrorKind::usage, "the task detection has no bootstrap intervals",
              "Leave out --intervals.");
}

// Only a run that has records may need the spill folder.
bool keeps_records(const tasks::Task& task) {
  return !task.columns().empty() || !task.sample_columns().empty() ||
         !task.retained_columns().empty();
}

}  // namespace

void check_row_sizes(const std::vector<predictions::ColumnSpec>& columns) {
  constexpr std::int64_t kMostBytes = std::numeric_limits<int>::max();
  for (const auto& column : columns) {
    if (column.ragged || column.row_bytes() <= kMostBytes) continue;
    throw Error(ErrorKind::dataset,
                format("what is kept of each sample as '{}' has {} bytes, expected at most {}",
                       column.name, column.row_bytes(), kMostBytes),
                "Leave it out of --save, or prepare smaller samples.");
  }
}

std::string task_in_force(const std::string& asked, const data::DataSetInfo& info) {
  // A class out of two can be read as a binary label, and the other way round.
  const auto labels_one_of_two = [&](const std::string& task) {
    return is_task(task, TaskKind::binary) ||
           (is_task(task, TaskKind::multiclass) && info.num_classes == 2);
  };
  if (asked.empty() || asked == info.task) return info.task;
  if (labels_one_of_two(asked) && labels_one_of_two(info.task)) return asked;
  const auto tasks = task_names();
  if (std::ranges::find(tasks, asked) == tasks.end()) {
    throw Error(ErrorKind::usage, format("there is no task '{}'", printable(asked)),
                did_you_mean(asked, {tasks.begin(), tasks.end()}, "See 'tally help evaluate'."));
  }
  throw Error(ErrorKind::usage,
              format("the task '{}' does not fit data set '{}', which is for '{}'", asked,
                     info.path.string(), info.task),
              "Leave --task out, or prepare the data for that task.");
}

tasks::RightClasses right_classes_of(const comm::Communicator& comm,
                                     const EvaluationSession& session, const std::string& task,
                                     Notes& notes) {
  auto& set = *session.data.set;
  if (!is_task(task, TaskKind::multiclass) || !data::has_label_sets(set.info())) return {};
  auto sets = std::make_shared<data::LabelSets>();
  comm::agree_on(comm, [&] {
    if (session.hardware.device.kind != DeviceKind::cpu) {
      throw Error(ErrorKind::usage,
                  "several classes are right for samples of this data set (/targets/labels), which "
                  "GPUs do not score",
                  "Use --device cpu; or --save logits, and 'tally score' with this data set.");
    }
    const auto limit = session.config.scoring.limit, all = set.info().num_samples;
    *sets = data::read_label_sets(set, limit > 0 ? std::min(limit, all) : all);
  });
  notes.add(
      "several classes may be right for a sample (/targets/labels): the best ranked of them counts "
      "as its label");
  // A warm-up batch may have more samples than the data set.
  return [sets = std::move(sets)](std::int64_t sample) {
    return sample < sets->num_samples() ? sets->of(sample) : std::span<const std::int64_t>();
  };
}

Scoring make_scoring(const comm::Communicator& comm, const config::RunConfig& config,
                     std::string task_name, const data::DataSetInfo& info,
                     std::optional<metrics::OutputKind> outputs,
                     const std::optional<model::ModelCard>& card,
                     tasks::RightClasses right_classes) {
  Scoring scoring;
  scoring.task_name = std::move(task_name);
  const auto class_weights =
      read_class_weights(comm, config.scoring.class_weights, info.num_classes);
  // The numbers are hashed, not the file: how they are written makes no difference.
  if (!class_weights.empty()) {
    scoring.class_weights_digest = digest::sha256_hex(std::as_bytes(std::span(class_weights)));
  }
  comm::agree_on(comm, [&] {
    scoring.outputs = outputs ? *outputs : output_kind(config, scoring.task_name, card);
    auto options = task_options(config, scoring, info, class_weights, card);
    scoring.has_label_sets = right_classes != nullptr;
    options.right_classes = std::move(right_classes);
    scoring.task = tasks::make_task(options);
    check_state_size(*scoring.task->layout());
    check_intervals(*scoring.task, config.results.intervals);
    if (keeps_records(*scoring.task)) check_spill_folder(config.results);
  });
  return scoring;
}

}  // namespace tally::app
