// SPDX-License-Identifier: Apache-2.0
#include "session_notes.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <tally/aggregate/question_units.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/device/cores_and_numa_nodes.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/model/amx_probe.hpp>

#include "batch_size_and_read_threads.hpp"
#include "tune.hpp"

namespace tally::app {

void note_model(const EvaluationSession& session, Notes& notes) {
  const auto& card = session.model.predictor->card();
  // A watch, and --weights, put others in their place.
  const bool keeps_weights = !session.is_watch() && !session.model.weights;
  if (keeps_weights && card && card->weights.are_random) {
    notes.add("the weights are random: the model was exported without --weights");
  }
  const bool has_classes = session.scoring.capabilities().class_scores != nullptr;
  const bool has_kind =
      !session.config.scoring.outputs.empty() || !session.config.files.predictions.empty();
  if (!card && !has_kind && has_classes) {
    notes.add("the model has no card: its outputs are taken as logits (--outputs says otherwise)");
  }
}

void note_amx(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes) {
  // All ranks gather before any of them returns.
  const auto left_out = comm.all_gather(std::int64_t{model::leave_out_broken_amx()});
  const auto count = std::ranges::count(left_out, 1);
  if (count == 0 || session.hardware.device.kind != DeviceKind::cpu) return;
  notes.add(
      count == comm.world_size()
          ? "this processor announces AMX but cannot run it: it is left out"
          : format("the processors of {} of {} ranks announce AMX but cannot run it: there it is "
                   "left out",
                   count, comm.world_size()));
}

// There is nothing to say where no other size would do better, or where one small batch holds the
// set. A tenth of what rank 0 computes may be lost without a note (docs/decisions/023).
void note_balance(const EvaluationSession& session, int world_size, Notes& notes) {
  if (session.resumption) return;  // its batches stay as they are
  const auto& grid = *session.plan.grid;
  const auto& card = session.model.predictor->card();
  const auto usual_size = config::RunConfig{}.execution.batch_size;
  const bool is_small =
      world_size == 1 && std::max(grid.num_samples(), grid.batch_size()) <= usual_size;
  const auto most = grid.most_computed(world_size);
  const auto share = grid.even_share(world_size);
  if ((card && card->fixed_batch) || is_small || 10 * share >= 9 * most) return;
  if (grid.batches_per_block() > 1) {
    notes.add(
        format("rank 0 computes {} samples where {} would do, for ranks take whole blocks of {} "
               "batches; a smaller --bucket-batches or --batch-size wastes less",
               most, share, grid.batches_per_block()));
    return;
  }
  const auto better = plan::better_batch_size(
      grid, world_size, [&](std::int64_t size) { return threads_share(session, size); });
  if (!better) return;
  notes.add(
      format("rank 0 computes {} samples where {} would do, for ranks take whole batches, filled "
             "up; --batch-size {} wastes less",
             most, share, *better));
}

void note_limit(const EvaluationSession& session, Notes& notes) {
  const auto& info = session.data.set->info();
  const auto all = is_rescoring_units(session) ? info.num_units : info.num_samples;
  if (session.config.scoring.limit <= all) return;
  notes.add(format("--limit {} is more than the {} {} of the data set",
                   session.config.scoring.limit, all,
                   is_rescoring_units(session) ? task_traits(info.task).many : "samples"));
}

namespace {

bool is_wanted(const EvaluationSession& session, const auto& is_meant) {
  return std::ranges::any_of(session.scoring.task->metrics(), is_meant);
}

bool has_bins(const std::string& metric) {
  return metric == "ece" || metric.starts_with("calibration_error_");
}

}  // namespace

void note_unused_options(const EvaluationSession& session, Notes& notes) {
  // An option counts as given where its value is not the default, wherever that value comes from.
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
  const bool takes_any_kind = !task.depends_on_output_kind || is_rescoring_units(session);
  // Of saved scores it says what the file holds, where that says nothing itself.
  const bool says_what_is_saved =
      !given.files.predictions.empty() && task.saved == SavedForm::scores;
  note(!given.scoring.outputs.empty(), says_what_is_saved || !takes_any_kind, "outputs",
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

namespace {

// Open MPI binds its ranks to a core or two, but not mpirun, the parent of this process, whose
// cores are those of the job. In a job of Slurm, and with other launchers, the parent may use more
// cores than the job has.
std::set<int> cores_of_launcher() {
  const bool is_open_mpi = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (!is_open_mpi || std::getenv("SLURM_JOB_ID") != nullptr) return {};
  return device::usable_cores(getppid());
}

// Ranks use --threads cores each; the rest of those that they may run on stand idle.
void note_idle_cores(const comm::Communicator& comm, const EvaluationSession& session,
                     std::int64_t cores, Notes& notes) {
  const auto threads = session.config.execution.threads;
  const auto used = std::int64_t{comm.local_world_size()} * threads;
  if (session.hardware.device.kind != DeviceKind::cpu || used >= cores) return;
  if (session.is_watch()) return;  // the others may be the training's
  const auto launch = format("mpirun -n {}", cores / threads);
  notes.add(
      threads == 1
          ? format("{} of {} cores are used; a rank per core ({}) is faster", used, cores, launch)
          : format("{} of {} cores are used; ranks for all ({} --map-by slot:pe={}) are faster",
                   used, cores, launch, threads));
}

// Open MPI binds the ranks of a small job to a core each, whatever --threads says.
void note_crowded_threads(const EvaluationSession& session, std::int64_t cores, Notes& notes) {
  const std::string counts = format("{} threads of a rank share {} core{}",
                                    session.config.execution.threads, cores, cores == 1 ? "" : "s");
  const bool is_bound = cores < sysconf(_SC_NPROCESSORS_ONLN);
  notes.add(is_bound
                ? format("{}, to which it is bound; mpirun --map-by slot:pe={} (srun "
                         "--cpus-per-task={}) gives each rank its own",
                         counts, session.config.execution.threads, session.config.execution.threads)
                : counts + ", which is slower than a thread for each");
}

void note_cores(const comm::Communicator& comm, const EvaluationSession& session,
                const std::set<int>& cores, Notes& notes) {
  const bool is_crowded = session.hardware.device.kind == DeviceKind::cpu &&
                          session.config.execution.threads > std::ssize(cores);
  auto crowded = comm.all_gather(is_crowded ? std::ssize(cores) : 0);  // cores of each rank
  std::erase(crowded, 0);
  // Where threads share cores the ranks are bound too tightly, which also explains cores that are
  // idle.
  if (!crowded.empty()) return note_crowded_threads(session, std::ranges::min(crowded), notes);
  auto cores_of_job = cores_of_launcher();
  cores_of_job.insert(cores.begin(), cores.end());
  note_idle_cores(comm, session, std::ssize(device::physical_cores(cores_of_job)), notes);
}

bool is_far_from_gpu(const EvaluationSession& session, const std::set<int>& nodes) {
  const auto gpu = std::ranges::find(session.hardware.gpus.gpus, session.hardware.device.uuid,
                                     &device::Gpu::uuid);
  if (session.hardware.device.kind == DeviceKind::cpu || gpu == session.hardware.gpus.gpus.end())
    return false;
  const auto of_gpu = device::numa_node_of_pci(gpu->pci_bus_id);
  return of_gpu && !nodes.empty() && !nodes.contains(*of_gpu);
}

}  // namespace

void note_binding(const comm::Communicator& comm, const EvaluationSession& session, Notes& notes) {
  const auto cores = device::usable_cores();
  note_cores(comm, session, cores, notes);
  const auto nodes = device::numa_nodes_of(cores);
  // A rank that is alone on its node may well use the cores of all NUMA nodes.
  const bool wanders = session.hardware.device.kind == DeviceKind::cpu &&
                       comm.local_world_size() > 1 && nodes.size() > 1;
  if (comm.max(std::int64_t{wanders}) != 0) {
    notes.add(
        "ranks may move between NUMA nodes, away from their memory; mpirun --bind-to numa (srun "
        "--cpu-bind=ldoms) keeps them");
  }
  if (comm.max(std::int64_t{is_far_from_gpu(session, nodes)}) != 0) {
    notes.add(
        "ranks run on another NUMA node than their GPU, so that copies go across; nvidia-smi topo "
        "-m shows which cores are near");
  }
}

}  // namespace tally::app
