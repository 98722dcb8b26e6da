// SPDX-License-Identifier: Apache-2.0
#include <tally/publish/plan_text.hpp>

#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>

#include "run_provenance.hpp"

namespace tally::app {
namespace {

std::string human_bytes(std::int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? format("{} B", bytes) : format("{:.1f} {}", value, kUnits[unit]);
}

// Returns the bytes of one row, without columns whose rows may have any length.
std::int64_t row_bytes_of(const std::vector<predictions::ColumnSpec>& columns) {
  std::int64_t bytes = 0;
  for (const auto& column : columns) bytes += column.ragged ? 0 : column.row_bytes();
  return bytes;
}

std::string threads_text(int threads) {
  return format("{} thread{} per rank", threads, threads == 1 ? "" : "s");
}

std::string task_text(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  const TaskTraits& task = task_traits(session.scoring.task_name);
  if (session.scoring.capabilities().has_units()) {
    return format("{}, {} {}", task.name, info.num_units, task.many);
  }
  if (info.num_classes == 0) return format("{}, nothing is scored", task.name);
  return format("{}, {} {}", task.name, info.num_classes, task.many);
}

std::string column_names(const tasks::Task& task) {
  std::vector<std::string> names;
  for (const auto& column : task.columns()) names.push_back(column.name);
  return names.empty() ? "none" : format("{}", fmt::join(names, ", "));
}

// Follows the bytes of the columns of fixed size.
std::string_view ragged_text(const std::vector<predictions::ColumnSpec>& columns) {
  const bool has_ragged = std::ranges::any_of(columns, &predictions::ColumnSpec::ragged);
  return has_ragged ? ", and rows of any length" : "";
}

std::string predictions_text(const EvaluationSession& session) {
  const auto columns = session.scoring.task->columns();
  return format("{}: {} in all{}", column_names(*session.scoring.task),
                human_bytes(row_bytes_of(columns) * session.scoring.num_units),
                ragged_text(columns));
}

// A folder that is named after the time is not this one when the run comes.
std::string output_text(const EvaluationSession& session) {
  return session.config.files.output.empty()
             ? format("a folder of its own, such as {}", session.output.folder)
             : session.output.folder;
}

std::string resume_text(const EvaluationSession& session) {
  if (session.output.is_complete) return "the result is complete: a run has nothing to do";
  if (!session.resumption) return "there is no progress to go on from";
  const auto& resumption = *session.resumption;
  const auto all = session.plan.grid->num_samples();
  return format("{} of {} samples are done, by {} rank{}; {} are left", resumption.num_samples, all,
                resumption.parts.back().world_size,
                resumption.parts.back().world_size == 1 ? "" : "s", all - resumption.num_samples);
}

std::string progress_text(const EvaluationSession& session) {
  const double interval_s = session.config.files.checkpoint_every_s;
  return interval_s > 0 ? format("kept every {} s and on a signal", interval_s)
                        : "kept on a signal";
}

}  // namespace

std::string plan_text(const EvaluationSession& session, int world_size) {
  const auto& info = session.data.set->info();
  const auto& grid = *session.plan.grid;
  // Names and paths come from users: characters that are not printable must not reach the terminal.
  const auto line = [](std::string_view name, const std::string& value) {
    return format("  {:<14} {}\n", name, printable(value));
  };
  // The first ranks have at most one block more than the others, so that rank 0 has the most
  // batches and the last rank the fewest.
  const auto first = grid.slice_of(0, world_size).count;
  const auto last = grid.slice_of(world_size - 1, world_size).count;
  const auto share = first == last ? format("{} batch{}", first, first == 1 ? "" : "es")
                                   : format("{} to {} batches", last, first);
  std::string text = "Plan (nothing was evaluated or written)\n";
  text += line("model",
               format("{} ({})", session.model.model.path, human_bytes(session.model.model.bytes)));
  if (session.model.weights) text += line("weights", session.model.weights->path);
  text += line("data", format("{} ({}, {})", info.path.string(), human_bytes(info.file_bytes),
                              info.integrity()));
  text += line("task", task_text(session));
  const auto& metrics = session.scoring.task->metrics();
  text += line("metrics", metrics.empty() ? "none" : format("{}", fmt::join(metrics, ", ")));
  for (const auto& groups : session.scoring.subgroups) {
    text += line("groups", format("{}: {} values", info.columns.groups.at(groups.column).name,
                                  groups.values.size()));
  }
  text += line("samples", format("{} of {}", grid.num_samples(), info.num_samples));
  text += line("batches", format("{} of {} sample{}", grid.num_batches(), grid.batch_size(),
                                 grid.batch_size() == 1 ? "" : "s"));
  if (grid.batches_per_block() > 1) {
    text += line("order", format("by length in blocks of {} batches", grid.batches_per_block()));
  }
  text += line("ranks", session.resumption ? format("{}, which share what is left", world_size)
                                           : format("{}, {} each, balance {:.3f}", world_size,
                                                    share, grid.balance(world_size)));
  text += line("device", format("{} ({}), {}", name(session.hardware.device.kind),
                                session.hardware.device.model,
                                threads_text(session.config.execution.threads)));
  text += line("precision", session.config.execution.precision);
  text += line("form", form_of(session));
  for (const auto& place : device::placement_lines(session.hardware.placement.table)) {
    text += line("placement", place);
  }
  const auto staged = session.config.reading.stage.empty()
                          ? ""
                          : ", from a copy in " + session.config.reading.stage;
  text += line("reading", threads_text(session.plan.read_threads) + staged);
  text += line("reduction", format("{}{}, state {} per rank", session.reducer->description(),
                                   session.config.execution.check_reduction ? ", checked" : "",
                                   human_bytes(session.scoring.task->layout()->num_bytes())));
  text += line("counts", format("{} in metrics.h5, and what curves and subgroups exchange",
                                human_bytes(session.scoring.task->layout()->num_bytes())));
  text += line("predictions", predictions_text(session));
  if (const auto retained = session.scoring.task->sample_columns(); !retained.empty()) {
    const std::int64_t bytes = row_bytes_of(retained) * grid.samples_of(session.plan.slice).count;
    text += line("kept", format("{}{} per rank until the end, beyond 64 MiB on disk",
                                human_bytes(bytes), ragged_text(retained)));
  }
  if (session.source->can_resume()) text += line("progress", progress_text(session));
  if (session.output.resume) text += line("resume", resume_text(session));
  text += line("output", output_text(session));
  if (!session.config.results.trace.empty()) text += line("trace", session.config.results.trace);
  return text;
}

}  // namespace tally::app
