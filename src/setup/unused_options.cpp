#include "unused_options.hpp"

#include <algorithm>

#include <tally/aggregate/questions.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/names.hpp>

#include "tune.hpp"

namespace tally::app {
namespace {

bool is_wanted(const EvaluationSession& session, const auto& is_meant) {
  return std::ranges::any_of(session.scoring.task->metrics(), is_meant);
}

bool has_bins(const std::string& metric) {
  return metric == "ece" || metric.starts_with("calibration_error_");
}

}  // namespace

void note_unused_options(const EvaluationSession& session, Notes& notes) {
  const config::RunConfig defaults;
  const auto note = [&](bool is_given, bool has_use, std::string_view option,
                        std::string_view use) {
    if (!is_given || has_use) return;
    notes.add(format("--{} changes nothing: no {}", option, use));
  };
  const config::RunConfig& given = session.config;
  const bool has_losses = metrics::contains(session.scoring.task->metrics(), "loss") ||
                          metrics::contains(given.results.save, "labels");
  const bool has_curves =
      session.scoring.capabilities().class_scores != nullptr &&
      is_wanted(session, [&](const std::string& metric) {
        return metrics::description_of(session.scoring.task_name, metric).value().needs_order;
      });
  note(given.scoring.curves != defaults.scoring.curves, has_curves, "curves",
       "metric of --metrics is made of curves");
  note(given.scoring.calibration_bins != defaults.scoring.calibration_bins,
       is_wanted(session, has_bins), "calibration-bins", "metric of --metrics has bins");
  note(given.scoring.label_smoothing > 0, has_losses, "label-smoothing",
       "loss is asked for or saved");
  const TaskTraits& task = task_traits(session.scoring.task_name);
  const bool takes_any_kind = !task.depends_on_output_kind || scores_units(session);
  note(!given.scoring.outputs.empty(), !takes_any_kind, "outputs",
       "metric depends on what kind of scores there is");
  note(!given.scoring.class_weights.empty(), has_losses, "class-weights",
       "loss is asked for or saved");
  note(given.scoring.confusion_max_classes != defaults.scoring.confusion_max_classes,
       task.has_large_confusion, "confusion-max-classes",
       format("matrix of many classes in the task {}", task.name));
  const bool has_answers = answers_of(session) != nullptr;
  note(given.answers.max_length != defaults.answers.max_length, has_answers, "max-answer-length",
       "questions are answered");
  note(given.answers.n_best != defaults.answers.n_best, has_answers, "n-best",
       "questions are answered");
  note(given.answers.no_answer_threshold != defaults.answers.no_answer_threshold,
       has_answers && session.data.set->info().no_answer, "no-answer-threshold",
       "question may be without an answer");
  note(given.execution.bucket_batches != defaults.execution.bucket_batches &&
           given.files.predictions.empty(),
       session.plan.grid->batches_per_block() > 1 || given.execution.bucket_batches == 1,
       "bucket-batches", "samples are sorted by length");
  note(given.execution.tune,
       session.hardware.device.kind == DeviceKind::cuda || has_several_ways(session), "tune",
       "GPU computes, and no TorchScript model runs on a CPU with --cpu-kernels auto");
  note(given.execution.cuda_graphs != defaults.execution.cuda_graphs,
       session.hardware.device.kind == DeviceKind::cuda, "cuda-graphs", "GPU computes");
  note(given.execution.cpu_kernels != defaults.execution.cpu_kernels, runs_script_on_cpu(session),
       "cpu-kernels", "TorchScript model runs on a CPU");
  const bool has_weights = !given.files.weights.empty() || !given.watch.checkpoints.empty();
  note(!given.files.weights_key.empty(), has_weights, "weights-key",
       "weights are given (--weights)");
  note(!given.files.weights_prefix.empty(), has_weights, "weights-prefix",
       "weights are given (--weights)");
  const bool has_replicates = given.results.intervals == "bootstrap";
  note(given.results.seed != defaults.results.seed, has_replicates, "seed",
       "bootstrap is asked for (--intervals)");
  note(given.results.bootstrap_replicas != defaults.results.bootstrap_replicas, has_replicates,
       "bootstrap-replicas", "bootstrap is asked for (--intervals)");
  const bool can_stop = given.watch.patience > 0;
  note(given.watch.min_delta > 0, can_stop, "min-delta",
       "early stopping is asked for (--patience)");
  note(!given.watch.significant, can_stop, "significant",
       "early stopping is asked for (--patience)");
}

}  // namespace tally::app
