// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/open_session.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/base/activity.hpp>
#include <tally/base/build_info.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/config/config_file.hpp>
#include <tally/config/run_options.hpp>
#include <tally/evaluate/image_recipe_check.hpp>
#include <tally/model/load_torch_libraries.hpp>
#include <tally/result_folder/error_file.hpp>
#include <tally/result_folder/input_overwrite_check.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/score_sources/open_saved_predictions.hpp>
#include <tally/score_sources/predictor_scores.hpp>
#include <tally/session/comparability.hpp>
#include <tally/session/foreign_code.hpp>
#include <tally/setup/device_and_reducer.hpp>
#include <tally/setup/make_scoring.hpp>
#include <tally/setup/open_inputs.hpp>
#include <tally/setup/staging.hpp>
#include <tally/setup/warm_up.hpp>

#include "batch_size_and_read_threads.hpp"
#include "class_weights_and_subgroups.hpp"
#include "find_progress.hpp"
#include "match_classes.hpp"
#include "model_memory.hpp"
#include "session_notes.hpp"
#include "tune.hpp"
#include "valid_classes.hpp"

namespace tally::app {
namespace {

std::vector<std::string> environment_entries() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

// `tally score` computes nothing but metrics: it reads 256 rows at a time, on the CPU.
void settle_scoring(config::RunConfig& config) {
  config.execution.batch_size = 256;
  config.execution.bucket_batches = 1;
  config.execution.device = "cpu";
}

void require_output_to_resume(const config::FileOptions& files) {
  if (!files.resume) return;
  if (files.output.empty()) {
    throw Error(ErrorKind::usage, "--resume needs --output, the folder of the run that is to go on",
                "Name it.");
  }
  if (files.overwrite) {
    throw Error(ErrorKind::usage, "--resume and --overwrite exclude each other",
                "Go on with --resume, or start anew with --overwrite.");
  }
}

// Rank 0 reads the config file for all: a job of many ranks asks the file system once.
config::ConfigFile share_config_file(const comm::Communicator& comm, config::RunKind kind,
                                     const std::vector<std::string>& arguments) {
  config::ConfigFile file;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    file = config::read_named_config_file(arguments, environment_entries(), kind);
  });
  file.path = comm.broadcast(file.path);
  file.text = comm.broadcast(file.text);
  return file;
}

config::RunConfig read_settings(const comm::Communicator& comm, config::RunKind kind,
                                const std::vector<std::string>& arguments) {
  const auto config_file = share_config_file(comm, kind, arguments);
  config::Parsed parsed;
  comm::agree_on(comm, [&] {
    // A rank whose environment names another file reads that, and the settings are found to differ.
    parsed = config::parse_run_options(arguments, environment_entries(), kind, config_file);
    require_output_to_resume(parsed.config.files);
  });
  for (const auto& variable : parsed.unknown_variables) {
    log::warning(format("environment variable {} is no option of tally and is ignored", variable));
  }
  // The environment may differ from node to node: one text of program and settings is compared, so
  // that all ranks run alike.
  std::string text = format("tally {} {} (build {})\n", build_info().version, build_info().revision,
                            program_build_id());
  for (const auto& [name, value] : parsed.config.settings) text += format("{} = {}\n", name, value);
  comm::agree_same(comm, ErrorKind::usage, "the program or its settings", text);
  if (kind == config::RunKind::predictions) settle_scoring(parsed.config);
  set_stall_limit(parsed.config.execution.stall_limit_s);
  return parsed.config;
}

// The name follows from the folder of checkpoints alone, so that a watch that is started again
// finds what it did before.
std::string watch_folder(const config::RunConfig& config) {
  if (!config.files.output.empty()) return config.files.output;
  auto path = std::filesystem::absolute(config.watch.checkpoints).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return format("tally-watch-{}", path.filename().string());
}

std::string choose_output(const comm::Communicator& comm, const config::RunConfig& config) {
  if (!config.watch.checkpoints.empty()) return comm.broadcast(watch_folder(config));
  auto output =
      comm.broadcast(config.files.output.empty() ? default_output_name() : config.files.output);
  comm::agree_on(comm, [&] {
    if (comm.is_root())
      // The constructor only examines the folder. It is created when the evaluation begins, so that
      // a run that fails before leaves nothing.
      OutputFolder(output, {config.files.overwrite, config.files.resume}, config.results.trace,
                   inputs_of(config));
  });
  return output;
}

// Finds out whether model and data set fit each other, which neither of them shows alone.
void bind_model_to_data(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  // Notes are added last, because warm-up and tuning may both change how the predictor runs.
  choose_sequence_length(comm, session);
  warm_up(comm, session, notes);
  tune(comm, session, notes);
  notes.add(session.execution.inputs->notes);
  if (const auto& recipes = session.execution.inputs->recipes) {
    if (auto note = evaluate::missing_recipe_note(*recipes)) notes.add(std::move(*note));
  }
  notes.add(session.model.predictor->notes());
  notes.add(session.scoring.task->notes());
  notes.add(comparability_notes(session));
  note_model(session, notes);
}

// Collective. Opens the model and checks its device's libraries.
void open_model(const comm::Communicator& comm, EvaluationSession& session,
                const std::string& task) {
  check_model_fits(comm, session);  // before others use the GPU's driver
  auto& hardware = session.hardware;
  // The libraries for a GPU are loaded on another thread while this one reads the model.
  const auto torch_for_device = model::load_ahead(hardware.device);
  session.model = load_model(comm, session.config, task, *hardware.stream,
                             session.is_watch() ? MoreWeights::come : MoreWeights::none);
  comm::agree_on(
      comm, [&] { hardware.gpu_versions = check_gpu_libraries(hardware.device, hardware.gpus); });
  session.source = predictor_scores();
}

// Collective. Opens saved predictions in place of a model, and returns what kind of scores they say
// they are.
std::optional<metrics::OutputKind> open_predictions(const comm::Communicator& comm,
                                                    EvaluationSession& session,
                                                    const std::string& task, Notes& notes) {
  auto opened = open_saved_predictions(comm, session.config, task, session.data, notes);
  session.model = std::move(opened.model);
  session.source = std::move(opened.source);
  if (opened.set) session.data.set = std::move(opened.set);
  return opened.outputs;
}

}  // namespace

void plan_batches(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  auto& plan = session.plan;
  plan.grid.emplace(num_samples(session), session.execution.batch_size,
                    batches_per_block(session, notes));
  plan_what_is_left(comm, session);
  comm::agree_on(comm, [&] {
    const auto& task = *session.scoring.task;
    for (const auto& columns : {task.columns(), task.sample_columns(), task.retained_columns()}) {
      check_row_sizes(columns);
    }
    session.scoring.num_units = count_units(session);
  });
  plan.read_threads =
      read_threads_for(session.config.reading, session.hardware.device, comm.local_world_size());
  check_stage_folder(comm, session);
  session.scoring.subgroups = find_subgroups(comm, session, notes);
}

EvaluationSession open_session(const comm::Communicator& comm, config::RunKind kind,
                               const std::vector<std::string>& arguments, Phases& phases,
                               Notes& notes) {
  const bool has_model = kind != config::RunKind::predictions;
  EvaluationSession session(read_settings(comm, kind, arguments));
  const auto& config = session.config;
  if (!config.results.trace.empty()) session.output.tracing = std::make_unique<Tracing>(comm);
  // The output comes early: a folder that cannot be used must not cost the time to load a model.
  session.output.folder = choose_output(comm, config);
  name_error_file(session.output.folder);
  session.output.overwrite = config.files.overwrite;
  session.output.resume = config.files.resume;
  find_progress(comm, session);
  session.hardware = place_ranks(comm, config.execution.device, notes);
  comm::agree_on(comm, [&] { session.hardware.stream.emplace(session.hardware.device); });
  phases.lap("settings");
  session.data = open_data(comm, config);
  // The task is needed before the model is loaded, which depends on what the task reads.
  std::string task;
  comm::agree_on(comm,
                 [&] { task = task_in_force(config.scoring.task, session.data.set->info()); });
  phases.lap("open_data");
  std::optional<metrics::OutputKind> outputs;
  if (has_model) {
    open_model(comm, session, task);
  } else {
    begin_phase("read_predictions");
    outputs = open_predictions(comm, session, task, notes);
  }
  phases.lap(has_model ? "load_model" : "read_predictions");
  if (has_model) match_classes(comm, session, notes);
  auto right_classes = right_classes_of(comm, session, task, notes);
  session.scoring = make_scoring(comm, config, task, session.data.set->info(), outputs,
                                 session.model.predictor->card(), std::move(right_classes));
  choose_valid_classes(comm, session, notes);
  session.execution.batch_size = settled_batch_size(comm, session, notes);
  if (session.source->runs_predictor()) bind_model_to_data(comm, session, notes);
  require_own_progress(comm, session);
  session.output.is_complete = has_complete_result(comm, session);
  phases.lap("warm_up");
  session.reducer = choose_reducer(comm, session, notes);  // last: what fails before leaves no NCCL
  phases.lap("start_reducer");
  if (auto note = foreign_code_note(session.reducer->name() == "nccl")) notes.add(std::move(*note));
  plan_batches(comm, session, notes);
  note_progress(session, notes);
  if (has_model) {
    note_balance(session, comm.world_size(), notes);
    note_amx(comm, session, notes);
    note_binding(comm, session, notes);
  }
  note_limit(session, notes);
  note_unused_options(session, notes);
  return session;
}

}  // namespace tally::app
