// SPDX-License-Identifier: Apache-2.0
#include "run_provenance.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include <tally/aggregate/question_units.hpp>
#include <tally/base/build_info.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/device/gpus.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/model/amx_probe.hpp>
#include <tally/model/torch_info.hpp>
#include <tally/session/foreign_code.hpp>

namespace tally::app {
namespace {

// These names explain a run. The whole environment is never recorded, for it may hold secrets.
constexpr std::array kRecordedVariables{"SLURM_JOB_ID",    "SLURM_JOB_NAME", "SLURM_JOB_PARTITION",
                                        "SLURM_NNODES",    "SLURM_NTASKS",   "PBS_JOBID",
                                        "OMP_NUM_THREADS", "OMP_PROC_BIND",  "OMP_PLACES",
                                        "MKL_NUM_THREADS", "MKL_CBWR",       "HDF5_PLUGIN_PATH"};

// These are recorded, too: they decide which kernels compute, and with which rounding.
constexpr std::array kKernelVariables{"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                      "ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE",
                                      "MKL_ENABLE_INSTRUCTIONS"};

// Returns the words of the command with blanks between them: in /proc they end with a zero byte.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

// Open MPI's parameters by name: its launcher hands over the job's key and addresses among them.
std::string open_mpi_parameters() {
  constexpr std::string_view kPrefix = "OMPI_MCA_";
  std::set<std::string_view> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view name(*entry);
    if (!name.starts_with(kPrefix)) continue;
    name = name.substr(kPrefix.size(), name.find('=') - kPrefix.size());
    const bool is_launchers = name.starts_with("orte_") || name.starts_with("ess");
    if (!is_launchers) names.insert(name);
  }
  return format("{}", fmt::join(names, ", "));
}

// By this number NCCL's sockets know the job's own connections.
constexpr std::string_view kNcclSecret = "NCCL_SOCKET_MAGIC";

// All of them decide how NCCL finds its way. NCCL_COMM_ID is none of them, for with it no run
// begins.
std::vector<std::pair<std::string, std::string>> nccl_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string_view::npos) continue;
    const auto name = text.substr(0, equals);
    found.emplace_back(name, name == kNcclSecret ? "(not recorded)" : text.substr(equals + 1));
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

// Each line is a condition of equal bits. A new line, or another text of one, changes the class of
// all runs, so that earlier results are not comparable with later ones.
std::string digest_class(const EvaluationSession& session) {
  std::string text;
  const auto line = [&text](std::string_view name, const auto& value) {
    text += format("{}: {}\n", name, value);
  };
  line("device", session.hardware.device.model);
  line("backend", session.model.predictor->backend());
  line("precision", session.config.execution.precision);
  line("batch size", session.execution.batch_size);
  line("threads", session.config.execution.threads);
  line("batches sorted by length", session.plan.grid->batches_per_block());
  if (answers_of(session) != nullptr) {
    line("longest answer", session.config.answers.max_length);
    line("answers kept", session.config.answers.n_best);
    line("no answer threshold", session.config.answers.no_answer_threshold);
  }
  line("form", form_of(session));
  line("model", session.model.model.digest);
  // Weights count by their tensors: other files with the same numbers give the same bits.
  line("weights", session.model.weights ? session.model.weights->tensors_sha256 : "");
  line("data", session.data.file.digest);
  line("samples", session.plan.grid->num_samples());
  line("weights key", session.config.files.weights_key);
  line("outputs", name(session.scoring.outputs));
  // These lines are there only where the option is given, or the data set's lengths decide it, so
  // that other runs keep their class.
  if (const auto& by = session.config.scoring.classes_by; by != "auto") line("classes by", by);
  if (const auto length = session.execution.sequence_length; length != 0) {
    line("compiled for sequences of", length);
  }
  if (const auto& valid = session.scoring.valid_classes_digest; !valid.empty()) {
    line("valid classes", valid);
  }
  line("definitions", session.config.scoring.definitions);
  line("threshold", session.config.scoring.threshold);
  line("label smoothing", session.config.scoring.label_smoothing);
  line("class weights", session.scoring.class_weights_digest);
  line("curves", session.config.scoring.curves);
  for (const auto& note : session.execution.inputs->notes) line("normalisation", note);
  line("card", session.model.card_digest);
  if (session.hardware.device.kind == DeviceKind::cuda) {
    line("driver", session.hardware.gpus.driver_version);
    line("cuda", session.hardware.gpu_versions.cuda_runtime);
    line("cudnn", session.hardware.gpu_versions.cudnn);
    // This variable decides whether NVIDIA's libraries may use TF32, which has fewer bits.
    const char* tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
    line("tf32 override", tf32 == nullptr ? "" : tf32);
  }
  for (const char* variable : kKernelVariables) {
    const char* value = std::getenv(variable);
    line(variable, value == nullptr ? "" : value);
  }
  line("state", session.scoring.task->layout()->description());
  // Metrics that need an order of scores have no part in the State, and so are named here.
  for (const auto& metric : session.scoring.task->metrics()) line("metric", metric);
  for (const auto& column : session.scoring.task->columns()) line("column", column.name);
  return digest::sha256_hex(text);
}

std::string form_of(const EvaluationSession& session) {
  const auto& card = session.model.predictor->card();
  if (!session.config.files.predictions.empty()) return "saved predictions";
  if (card && card->package) return format("compiled package, {}", card->package->precision);
  const std::string form = session.model.predictor->form();
  if (session.model.predictor->model_format() == model::ModelFormat::onnx) return "ONNX, " + form;
  return form.empty() ? "TorchScript" : "TorchScript, " + form;
}

std::vector<std::pair<std::string, std::string>> environment_of(const comm::Communicator& comm) {
  const auto& build = build_info();
  std::vector<std::pair<std::string, std::string>> entries{
      {"finished", utc_now_iso()},
      {"command", command_line()},
      {"host", host_name()},
      {"cpu", cpu_model()},
      {"world_size", std::to_string(comm.world_size())},
      {"mpi", comm::Runtime::library_version()},
      {"hdf5", hdf5::library_version()},
      {"compiler", std::string(build.compiler)},
      {"build_type", std::string(build.build_type)},
      {"allocator", std::string(build.allocator)}};
  if (model::leave_out_broken_amx()) {
    entries.emplace_back("amx", "left out: announced by the processor, which cannot run it");
  }
  const auto record = [&](const char* name) {
    if (const char* value = std::getenv(name)) entries.emplace_back(name, value);
  };
  std::ranges::for_each(kRecordedVariables, record);
  std::ranges::for_each(kKernelVariables, record);
  for (auto& variable : foreign_code()) entries.push_back(std::move(variable));
  if (auto parameters = open_mpi_parameters(); !parameters.empty()) {
    entries.emplace_back("open_mpi_parameters", std::move(parameters));
  }
  return entries;
}

std::vector<std::pair<std::string, std::string>> backend_of(const EvaluationSession& session) {
  auto backend = session.model.predictor->backend();
  // Saved scores are counted without LibTorch, which stays unloaded.
  if (backend.empty()) return {{"torch", "not loaded"}, {"backend", "none"}};
  return {{"torch", model::torch_version()}, {"backend", std::move(backend)}};
}

std::vector<std::pair<std::string, std::string>> device_settings(const EvaluationSession& session) {
  if (session.hardware.device.kind != DeviceKind::cuda) return {};
  std::vector<std::pair<std::string, std::string>> settings{
      {"cuda_driver", device::cuda_version_text(session.hardware.gpus.driver_version)},
      {"cuda_runtime", device::cuda_version_text(session.hardware.gpus.runtime_version)},
      {"cudnn", std::to_string(session.hardware.gpu_versions.cudnn)},
      {"reducer", session.reducer->description()},
      {"cuda_graph", session.model.predictor->is_replayed() ? "replayed" : "not used"}};
  // Without NCCL its variables explain nothing.
  if (session.reducer->name() == "nccl") {
    const auto variables = nccl_variables();
    settings.insert(settings.end(), variables.begin(), variables.end());
    for (auto& entry : foreign_code_of_nccl()) {
      if (!entry.first.starts_with("NCCL_")) settings.push_back(std::move(entry));
    }
  }
  return settings;
}

}  // namespace tally::app
