// SPDX-License-Identifier: Apache-2.0
#include <tally/setup/open_inputs.hpp>

#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/model/card.hpp>
#include <tally/model/files_beside.hpp>
#include <tally/model/load_torch_libraries.hpp>
#include <tally/trace/span_recording.hpp>

#include "broadcast_weights.hpp"
#include "model_memory.hpp"
#include "same_file.hpp"

namespace tally::app {
namespace {

struct SharedFile {
  std::vector<std::byte> bytes;
  report::InputFile file;

  model::NamedBytes named() const { return {file.path, bytes}; }
};

// A model's file, and those that hold weights of it.
struct SharedModel {
  std::vector<SharedFile> files;  // the model's own first
  report::InputFile input;        // of all: with several files the digest of one after the other
};

constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

// Collective. Rank 0 reads `path`; the bytes reach every rank.
SharedFile read_bytes(const comm::Communicator& comm, const std::string& path,
                      std::string_view what, std::int64_t most_bytes = kAnySize) {
  SharedFile shared;
  comm::agree_on(comm, [&] {
    const trace::Span span(trace::Kind::step, "read_file");
    if (comm.is_root()) shared.bytes = read_file(path, ErrorKind::model, what, most_bytes);
  });
  comm.broadcast(shared.bytes);
  shared.file = {path, checked_cast<std::int64_t>(shared.bytes.size()), ""};
  return shared;
}

// Collective. As read_bytes(), with the digest.
SharedFile read_once(const comm::Communicator& comm, const std::string& path, std::string_view what,
                     std::int64_t most_bytes = kAnySize) {
  auto shared = read_bytes(comm, path, what, most_bytes);
  shared.file.digest =
      comm.broadcast(comm.is_root() ? digest::sha256_hex(shared.bytes) : std::string());
  return shared;
}

report::InputFile joined(const std::vector<SharedFile>& files) {
  report::InputFile all{files.front().file.path, 0, ""};
  digest::Sha256 hash;
  for (const auto& part : files) {
    const ActivityScope step(Activity::step);
    hash.update(part.bytes);
    all.bytes += part.file.bytes;
  }
  all.digest = hash.hex();
  return all;
}

// Collective, before these files with weights of a model are read.
void check_all_fit(const comm::Communicator& comm, const std::string& model,
                   const std::vector<std::string>& beside) {
  std::int64_t bytes = 0;
  if (comm.is_root()) {
    for (const auto& path : beside) {
      std::error_code unseen;  // reading it says why
      const auto size = std::filesystem::file_size(path, unseen);
      if (!unseen) bytes += checked_cast<std::int64_t>(size);
    }
  }
  bytes = comm.max(bytes);
  comm::agree_on(comm, [&] {
    check_host_memory(printable(format("weights beside model '{}'", model)), bytes,
                      comm.local_world_size());
  });
}

// Collective. Files beside the model have the names by which it knows them.
SharedModel read_model(const comm::Communicator& comm, const std::string& path) {
  SharedModel model;
  model.files.push_back(read_once(comm, path, "model"));
  model.input = model.files.front().file;
  std::vector<std::string> names;
  comm::agree_on(comm, [&] { names = model::files_beside(model.files.front().named()); });
  if (names.empty()) return model;
  std::vector<std::string> paths;
  for (const auto& name : names) {
    paths.push_back((std::filesystem::path(path).parent_path() / name).string());
  }
  check_all_fit(comm, path, paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    model.files.push_back(read_bytes(comm, paths[i], "file with weights of the model"));
    model.files.back().file.path = names[i];
  }
  if (comm.is_root()) model.input = joined(model.files);
  model.input.bytes = comm.max(model.input.bytes);
  model.input.digest = comm.broadcast(model.input.digest);
  return model;
}

// Collective. Reads <model>.json where rank 0 sees one.
std::optional<SharedFile> read_card_beside(const comm::Communicator& comm,
                                           const std::string& model) {
  const std::string path = model + ".json";
  std::error_code ignored;
  const bool there = comm.is_root() && std::filesystem::is_regular_file(path, ignored);
  if (comm.max(std::int64_t{there}) == 0) return std::nullopt;
  return read_once(comm, path, "model card", model::kMaxCardBytes);
}

// An example of `option` is "model-sha256", of `what` "model 'x.pt'"; an empty `wanted` takes any.
void require_digest(std::string_view option, std::string_view what, const std::string& found,
                    const std::string& wanted) {
  if (wanted.empty() || found == wanted) return;
  throw Error(ErrorKind::model,
              format("{} has the SHA-256 {}, --{} is {}", what, found, option, wanted),
              "Give the file that is meant, or its digest.");
}

// Returns a note where weights have the name of those that the model was exported with, and other
// bytes.
std::optional<std::string> note_of_other_weights(const report::WeightsFile& weights,
                                                 const std::optional<model::ModelCard>& card) {
  const auto name = std::filesystem::path(weights.path).filename().string();
  if (!card || weights.sha256.empty() || card->weights.sha256.empty()) {
    return std::nullopt;
  }
  if (card->weights.name != name || card->weights.sha256 == weights.sha256) return std::nullopt;
  return printable(
      format("weights '{}' are not those of this name that the model was exported with: their "
             "SHA-256 is {}, the model card's source has {}",
             weights.path, weights.sha256, card->weights.sha256));
}

// Collective. Loads the model on every rank. The bytes of its file are freed when this returns,
// before weights are read.
std::unique_ptr<model::LoadedModel> load_on_all(const comm::Communicator& comm,
                                                const config::RunConfig& config,
                                                const std::string& task,
                                                const device::Stream& stream, OpenedModel& opened) {
  const SharedModel model = read_model(comm, config.files.model);
  const auto card = read_card_beside(comm, config.files.model);
  model::PredictorOptions options;
  options.threads = config.execution.threads;
  options.device = stream.device();
  options.stream = stream.handle();
  options.precision = model::precision_from_name(config.execution.precision);
  options.tune = config.execution.tune;
  options.keeps_bfloat16 = task_traits(task).reads_bfloat16;
  options.scores_at_places = task_traits(task).scores_at_places;
  options.weights_prefix = config.files.weights_prefix;
  options.allow_training_mode = config.execution.allow_training_mode;
  options.cuda_graphs = config.execution.cuda_graphs == "auto";
  options.cpu_kernels = config.execution.cpu_kernels == "torch" ? model::CpuKernels::torch
                                                                : model::CpuKernels::automatic;
  if (card) options.card = card->named();
  for (const auto& part : std::span(model.files).subspan(1)) {
    options.files_beside.push_back(part.named());
  }
  std::unique_ptr<model::LoadedModel> loaded;
  comm::agree_on(comm, [&] {
    const trace::Span span(trace::Kind::step, "load_model");
    require_digest("model-sha256", printable(format("model '{}'", config.files.model)),
                   model.input.digest, config.files.model_sha256);
    loaded = model::load_model(model.files.front().named(), options);
  });
  // The program was compared before, without the library that runs its models.
  comm::agree_same(comm, ErrorKind::usage, format("the program's {}", model::kTorchLibrary),
                   library_build_id(model::kTorchLibrary));
  opened.model = model.input;
  if (card) opened.card_digest = card->file.digest;
  return loaded;
}

// Results are looked at from other folders than the run was started in. Without a working folder
// the path stays as it is.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace

OpenedData open_data(const comm::Communicator& comm, const config::RunConfig& config) {
  OpenedData opened;
  const WorkScope file(printable(format("data set '{}'", config.files.data)));
  // HDF5 may crash on it, which must cost no rank.
  comm::agree_on(comm, [&] {
    if (comm.is_root()) data::probe_files(config.files.data);
  });
  comm::agree_on(comm, [&] {
    opened.set = std::make_unique<data::DataSet>(
        config.files.data, is_task(config.scoring.task, TaskKind::predict) ? data::Targets::left_out
                                                                           : data::Targets::read);
    opened.file = {absolute_path(config.files.data), opened.set->info().file_bytes,
                   opened.set->identity()};
    opened.samples = opened.set->sample_identity();
  });
  comm::agree_same(comm, ErrorKind::dataset, "the data set '" + config.files.data + "'",
                   opened.file.digest);
  // Identities differ only where something checks the rows. Stamps also show a file that was
  // replaced between the openings of two ranks of one node.
  agree_on_one_file(comm, config.files.data, opened.set->stamp());
  return opened;
}

OpenedModel load_model(const comm::Communicator& comm, const config::RunConfig& config,
                       const std::string& task, const device::Stream& stream, MoreWeights more) {
  OpenedModel opened;
  const WorkScope file(printable(format("model '{}'", config.files.model)));
  comm::agree_on(comm, [&] {
    // A wrong usage is refused before anything large is read.
    if (config.files.weights_sha256.empty() || !config.files.weights.empty()) return;
    throw Error(ErrorKind::usage, "--weights-sha256 is given without --weights",
                "Give the weights too, or --model-sha256 for the model's own.");
  });
  auto loaded = load_on_all(comm, config, task, stream, opened);
  if (!config.files.weights.empty()) {
    const WorkScope weights(printable(format("weights '{}'", config.files.weights)));
    auto shared = broadcast_weights(
        comm, open_on_all(comm, config.files.weights, config.files.weights_key), *loaded);
    for (const auto& note : shared.notes) log::note(note);  // what fails next may be due to it
    opened.notes = std::move(shared.notes);
    opened.weights = std::move(shared.file);
  }
  comm::agree_on(comm, [&] {
    const trace::Span span(trace::Kind::step, "build_model");
    if (opened.weights) {
      require_digest("weights-sha256", printable(format("weights '{}'", config.files.weights)),
                     opened.weights->digest(), config.files.weights_sha256);
    }
    // Without further weights the predictor takes the model's memory over.
    const bool is_last = more == MoreWeights::none;
    opened.predictor = is_last ? loaded->into_predictor() : loaded->make_predictor();
  });
  if (opened.weights) {
    if (auto note = note_of_other_weights(*opened.weights, opened.predictor->card())) {
      log::note(*note);
      opened.notes.push_back(std::move(*note));
    }
  }
  if (more == MoreWeights::come) opened.loaded = std::move(loaded);
  return opened;
}

}  // namespace tally::app
