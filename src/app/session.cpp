#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/config/options.hpp>
#include <tally/digest/digest.hpp>
#include <tally/model/gpu_libraries.hpp>
#include <tally/trace/span.hpp>

#include "batch_size.hpp"
#include "binding_hints.hpp"
#include "class_weights.hpp"
#include "comparability.hpp"
#include "model_size.hpp"
#include "output_folder.hpp"
#include "reading.hpp"
#include "reduction.hpp"
#include "saved_predictions.hpp"
#include "staging.hpp"
#include "tune.hpp"
#include "units.hpp"
#include "warm_up.hpp"

namespace tally::app {
namespace {

constexpr std::int64_t kMaxStateBytes = std::int64_t{1} << 30;

std::vector<std::string> environment_entries() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

config::RunConfig read_settings(const comm::Communicator& comm, config::RunKind kind,
                                const std::vector<std::string>& arguments) {
  config::Parsed parsed;
  comm::agree_on(
      comm, [&] { parsed = config::parse_run_options(arguments, environment_entries(), kind); });
  for (const auto& variable : parsed.unknown_variables) {
    log::warning(format("environment variable {} is no option of tally and is ignored", variable));
  }
  std::string text = format("tally {} {}\n", build_info().version, build_info().revision);
  for (const auto& [name, value] : parsed.config.settings) text += format("{} = {}\n", name, value);
  comm::agree_same(comm, ErrorKind::usage, "the program or its settings", text);
  return parsed.config;
}

// Nothing is computed but the figures: rows at a time, and where.
void settle_scoring(config::RunConfig& config) {
  config.batch_size = 256;
  config.bucket_batches = 1;
  config.device = "cpu";
}

// Where a watch that is started again finds what it did before.
std::string watch_folder(const config::RunConfig& config) {
  if (!config.output.empty()) return config.output;
  auto path = std::filesystem::absolute(config.watch.checkpoints).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return format("tally-watch-{}", path.filename().string());
}

std::string choose_output(const comm::Communicator& comm, const config::RunConfig& config) {
  if (!config.watch.checkpoints.empty()) return comm.broadcast(watch_folder(config));
  auto output = comm.broadcast(config.output.empty() ? default_output_name() : config.output);
  comm::agree_on(comm, [&] {
    if (comm.is_root()) OutputFolder(output, config.overwrite, config.trace, inputs_of(config));
  });
  return output;
}

tasks::SaveColumns save_columns(const std::string& word) {
  if (word == "topk") return tasks::SaveColumns::topk;
  if (word == "probabilities") return tasks::SaveColumns::probabilities;
  if (word == "masks") return tasks::SaveColumns::masks;
  return word == "logits" ? tasks::SaveColumns::logits : tasks::SaveColumns::labels;
}

// --outputs, else the card's, else logits. What a detector's scores are makes no difference.
metrics::OutputKind output_kind(const config::RunConfig& config, const std::string& task_name,
                                const std::optional<model::ModelCard>& card) {
  if (!config.outputs.empty()) return metrics::output_kind_from_name(config.outputs);
  if (task_name == "detection") return metrics::OutputKind::logits;
  if (card && !card->outputs.empty() && !card->outputs[0].kind.empty()) {
    return metrics::output_kind_from_name(card->outputs[0].kind);
  }
  return metrics::OutputKind::logits;
}

// The targets are laid out for one task; one of two classes can be read either way.
void check_task(const std::string& asked, const data::DataSetInfo& info) {
  const auto labels_one_of_two = [&](const std::string& task) {
    return task == "binary" || (task == "multiclass" && info.num_classes == 2);
  };
  if (asked == info.task || (labels_one_of_two(asked) && labels_one_of_two(info.task))) return;
  const auto tasks = tasks::known_tasks();
  if (std::ranges::find(tasks, asked) == tasks.end()) {
    throw Error(ErrorKind::usage, format("there is no task '{}'", printable(asked)),
                did_you_mean(asked, {tasks.begin(), tasks.end()}, "See 'tally help evaluate'."));
  }
  throw Error(ErrorKind::usage,
              format("the task '{}' does not fit data set '{}', which is for '{}'", asked,
                     info.path.string(), info.task),
              "Leave --task out, or prepare the data for that task.");
}

std::unique_ptr<tasks::Task> make_task(const config::RunConfig& config,
                                       const std::string& task_name, const data::DataSetInfo& info,
                                       metrics::OutputKind outputs,
                                       const std::vector<double>& class_weights,
                                       const std::optional<model::ModelCard>& card) {
  tasks::TaskOptions options;
  options.task = task_name;
  options.outputs = outputs;
  options.metrics = {.task = options.task,
                     .num_classes = info.num_classes,
                     .ignore_index = info.ignore_index,
                     .confusion_max_classes = config.confusion_max_classes,
                     .names = config.metrics,
                     .definitions = metrics::definitions_from_name(config.definitions),
                     .calibration_bins = config.calibration_bins,
                     .label_smoothing = config.label_smoothing,
                     .class_weights = class_weights,
                     .threshold = config.threshold,
                     .maps = info.has_maps(),
                     .no_answer = info.no_answer,
                     .has_margins = config.predictions.empty()};
  options.are_saved = !config.predictions.empty();
  options.answer_limits = {.max_tokens = config.max_answer_length, .num_best = config.n_best};
  options.answer_policy = {.no_answer = info.no_answer,
                           .no_answer_threshold = config.no_answer_threshold,
                           .has_spans = config.predictions.empty()};
  options.keep_rows = !info.groups.empty() || config.intervals == "bootstrap";
  options.targets.clear();
  for (const auto& target : info.targets) options.targets.push_back(target.name);
  if (card) {
    for (const auto& output : card->outputs) options.output_names.push_back(output.name);
  }
  for (const auto& word : config.save) {
    if (word != "none") options.save.push_back(save_columns(word));
  }
  return tasks::make_task(options);
}

void check_state_size(const exact::StateLayout& layout) {
  if (layout.num_bytes() <= kMaxStateBytes) return;
  throw Error(ErrorKind::usage,
              format("the counters would take {} MiB on every rank", layout.num_bytes() >> 20),
              "Ask for fewer --metrics, or lower --confusion-max-classes.");
}

// An image may be drawn several times; COCO's evaluation has each once.
void check_intervals(const EvaluationSession& session) {
  if (session.scoring.task->detections() == nullptr || session.config.intervals != "bootstrap")
    return;
  throw Error(ErrorKind::usage, "the task detection has no bootstrap intervals",
              "Leave out --intervals.");
}

// Nothing to say where no other size would do better, or of a set that one small batch holds.
void note_balance(EvaluationSession& session, int world_size) {
  const auto& grid = *session.plan.grid;
  const auto& card = session.model.predictor->card();
  const auto usual_size = config::RunConfig{}.batch_size;
  const bool is_small =
      world_size == 1 && std::max(grid.num_samples(), grid.batch_size()) <= usual_size;
  const auto most = grid.most_computed(world_size);
  const auto share = grid.even_share(world_size);
  if ((card && card->fixed_batch) || is_small || 10 * share >= 9 * most) return;
  if (grid.batches_per_block() > 1) {
    session.notes.push_back(
        format("rank 0 computes {} samples where {} would do, for ranks take whole blocks of {} "
               "batches; a smaller --bucket-batches or --batch-size wastes less",
               most, share, grid.batches_per_block()));
    return;
  }
  const auto better = plan::better_batch_size(
      grid, world_size, [&](std::int64_t size) { return threads_share(session, size); });
  if (!better) return;
  session.notes.push_back(
      format("rank 0 computes {} samples where {} would do, for ranks take whole batches, filled "
             "up; --batch-size {} wastes less",
             most, share, *better));
}

void note_limit(EvaluationSession& session) {
  const auto& info = session.data.set->info();
  const auto all = scores_units(session) ? info.num_units : info.num_samples;
  if (session.config.limit <= all) return;
  session.notes.push_back(format("--limit {} is more than the {} {} of the data set",
                                 session.config.limit, all,
                                 scores_units(session) ? unit_word(info.task) : "samples"));
}

// What the data set alone and what the model alone cannot tell: do they fit each other?
void bind_model_to_data(const comm::Communicator& comm, EvaluationSession& session) {
  const auto& info = session.data.set->info();
  auto& predictor = *session.model.predictor;
  const auto class_weights =
      read_class_weights(comm, session.config.class_weights, info.num_classes);
  if (!class_weights.empty()) {
    session.scoring.class_weights_digest =
        digest::sha256_hex(std::as_bytes(std::span(class_weights)));
  }
  comm::agree_on(comm, [&] {
    session.scoring.outputs =
        output_kind(session.config, session.scoring.task_name, predictor.card());
    session.scoring.task = make_task(session.config, session.scoring.task_name, info,
                                     session.scoring.outputs, class_weights, predictor.card());
    check_state_size(*session.scoring.task->layout());
    check_intervals(session);
    if (!session.scoring.task->columns().empty() ||
        !session.scoring.task->sample_columns().empty() ||
        !session.scoring.task->kept_columns().empty()) {
      check_spill_folder(session.config);
    }
  });
  if (scores_units(session) || session.saved.detections) return;
  settle_batch_size(comm, session);
  warm_up(comm, session);
  tune(comm, session);
  for (const auto& notes : {session.execution.routes.notes, predictor.notes(),
                            session.scoring.task->notes(), comparability_notes(session)}) {
    session.notes.insert(session.notes.end(), notes.begin(), notes.end());
  }
  note_model(session);
}

}  // namespace

std::int64_t num_samples(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  const auto all = scores_units(session) ? info.num_units : info.num_samples;
  return session.config.limit > 0 ? std::min(session.config.limit, all) : all;
}

EvaluationSession open_session(const comm::Communicator& comm, config::RunKind kind,
                               const std::vector<std::string>& arguments, Phases& phases) {
  const bool has_model = kind != config::RunKind::predictions;
  EvaluationSession session;
  session.config = read_settings(comm, kind, arguments);
  if (!has_model) settle_scoring(session.config);
  if (!session.config.trace.empty()) session.output.tracing = std::make_unique<Tracing>(comm);
  session.output.folder = choose_output(comm, session.config);
  place_ranks(comm, session);
  comm::agree_on(comm, [&] { session.hardware.stream.emplace(session.hardware.device); });
  phases.done("settings");
  session.data = open_data(comm, session.config);
  comm::agree_on(comm, [&] {
    const auto& info = session.data.set->info();
    session.scoring.task_name = session.config.task.empty() ? info.task : session.config.task;
    check_task(session.scoring.task_name, info);
  });
  phases.done("open_data");
  if (has_model) {
    check_model_fits(comm, session);  // before others use the GPU's driver
    const auto torch_for_device = model::load_ahead(session.hardware.device);
    session.model =
        load_model(comm, session.config, session.scoring.task_name, *session.hardware.stream,
                   session.is_watch() ? MoreWeights::come : MoreWeights::none);
    comm::agree_on(comm, [&] {
      session.hardware.gpu_versions =
          check_gpu_libraries(session.hardware.device, session.hardware.gpus);
    });
  } else {
    take_predictions(comm, session);
  }
  phases.done(has_model ? "load_model" : "read_predictions");
  bind_model_to_data(comm, session);
  phases.done("warm_up");
  choose_reducer(comm, session);  // last: what fails before leaves no NCCL behind
  phases.done("start_reducer");
  session.plan.grid.emplace(num_samples(session), session.config.batch_size,
                            batches_per_block(session));
  session.plan.slice = session.plan.grid->slice_of(comm.rank(), comm.world_size());
  comm::agree_on(comm, [&] { session.scoring.num_units = count_units(session); });
  session.plan.read_threads =
      read_threads_for(session.config, session.hardware.device, comm.local_world_size());
  check_stage_folder(comm, session);
  session.scoring.subgroups = find_subgroups(comm, session);
  if (has_model) note_balance(session, comm.world_size());
  if (has_model) note_amx(comm, session);
  if (has_model) note_binding(comm, session);
  note_limit(session);
  note_idle_options(session);
  return session;
}

}  // namespace tally::app
