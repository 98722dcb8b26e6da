// SPDX-License-Identifier: Apache-2.0
#include <tally/session/run_facts.hpp>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/session/comparability.hpp>
#include <tally/session/session.hpp>

namespace tally::app {
namespace {

using Json = nlohmann::json;

constexpr const char* kModel = "model";
constexpr const char* kWeights = "weights";
constexpr const char* kCard = "model card";
constexpr const char* kPredictions = "predictions";
constexpr const char* kData = "data set";
// It says what becomes of a result in the end. Counts are the same, so that a run which failed by
// it can go on with another one.
constexpr const char* kOnNan = "--on-nan";

// Paths, of whose files the digests count; where and how fast a run computes, which has no part in
// its results; and what becomes of them. The size of batches counts as it is in force.
constexpr std::array<std::string_view, 28> kFree{
    "model",         "model-sha256",   "weights",       "weights-sha256",
    "weights-key",   "weights-prefix", "data",          "predictions",
    "output",        "overwrite",      "resume",        "checkpoint-every",
    "class-weights", "valid-classes",  "batch-size",    "tune",
    "cuda-graphs",   "device",         "reduce",        "check-reduction",
    "read-threads",  "stage",          "gather-window", "spill-dir",
    "config",        "progress",       "trace",         "stall-limit"};

// Whether a setting says what holds without it: both are the same run.
bool is_default(std::string_view name, std::string_view text) {
  return name == "metrics" && text == "standard";
}

bool counts(std::string_view setting) { return std::ranges::count(kFree, setting) == 0; }

std::string columns_text(const EvaluationSession& session) {
  std::string text;
  for (const auto& columns :
       {session.scoring.task->columns(), session.scoring.task->sample_columns()}) {
    for (const auto& column : columns) {
      text += format("{} {} [{}] {}\n", column.name, name(column.dtype),
                     fmt::join(column.row_shape, ", "), column.ragged);
    }
    text += '\n';
  }
  return text;
}

std::string shortened(std::string_view value) {
  constexpr std::size_t kMost = 40;
  return value.size() <= kMost ? std::string(value) : std::string(value.substr(0, 12)) + "…";
}

std::string value_of(const RunFacts& facts, std::string_view name) {
  const auto found =
      std::ranges::find_if(facts.inputs, [&](const auto& input) { return input.first == name; });
  return found == facts.inputs.end() ? std::string() : found->second;
}

ErrorKind kind_of(std::string_view name) {
  if (name == kModel || name == kWeights || name == kCard) return ErrorKind::model;
  return name == kData || name == kPredictions ? ErrorKind::dataset : ErrorKind::usage;
}

// "with --metrics accuracy", "without --metrics".
std::string with_or_without(std::string_view name, std::string_view value) {
  return value.empty() ? format("without {}", name) : format("with {} {}", name, shortened(value));
}

std::string difference_text(std::string_view name, std::string_view then, std::string_view now) {
  if (kind_of(name) == ErrorKind::usage) {
    return format("was made {}, and this run is {}", with_or_without(name, then),
                  with_or_without(name, now));
  }
  if (then.empty()) return format("was made without {}, and this run has {}", name, shortened(now));
  const std::string_view has = now.empty() ? "none" : now;
  const bool are_many = name == kWeights || name == kPredictions;
  return format("is of {} {} {}, and this run has {}", are_many ? "other" : "another", name,
                shortened(then), shortened(has));
}

Error differs(std::string_view name, const RunFacts& then, const RunFacts& now,
              std::string_view folder) {
  return {kind_of(name),
          format("the progress in '{}' {}", printable(folder),
                 difference_text(name, value_of(then, name), value_of(now, name))),
          "Give what the first run was given, or start anew with --overwrite in the place of "
          "--resume."};
}

Json way_json(const std::optional<model::CpuExecutionSettings>& way) {
  if (!way) return {};
  return {{"torch_kernels", way->kernels == model::CpuKernels::torch},
          {"at_a_time", way->at_a_time}};
}

std::optional<model::CpuExecutionSettings> way_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return model::CpuExecutionSettings{json.at("torch_kernels").get<bool>()
                                         ? model::CpuKernels::torch
                                         : model::CpuKernels::automatic,
                                     json.at("at_a_time").get<std::int64_t>()};
}

}  // namespace

RunFacts facts_of(const EvaluationSession& session, std::string digest_class) {
  RunFacts facts{.inputs = {},
                 .digest_class = std::move(digest_class),
                 .batch_size = session.execution.batch_size,
                 .way = session.execution.way,
                 .overwrites = session.output.overwrite,
                 .is_comparable = is_comparable(session),
                 .revision = std::string(build_info().revision)};
  auto& inputs = facts.inputs;
  const bool has_model = session.config.files.predictions.empty();
  inputs.emplace_back(has_model ? kModel : kPredictions, session.model.model.digest);
  inputs.emplace_back(kWeights, session.model.weights ? session.model.weights->tensors_sha256 : "");
  inputs.emplace_back(kCard, session.model.card_digest);
  inputs.emplace_back(kData, session.data.file.digest);
  for (const auto& [name, text] : session.config.settings) {
    if (counts(name)) inputs.emplace_back("--" + name, is_default(name, text) ? "" : text);
  }
  inputs.emplace_back("--batch-size", format("{}", session.execution.batch_size));
  inputs.emplace_back("--class-weights", session.scoring.class_weights_digest);
  inputs.emplace_back("--valid-classes", session.scoring.valid_classes_digest);
  inputs.emplace_back("tally", std::string(build_info().version));
  inputs.emplace_back("counts", digest::sha256_hex(session.scoring.task->layout()->description()));
  inputs.emplace_back("columns", digest::sha256_hex(columns_text(session)));
  return facts;
}

std::string inputs_digest(const RunFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts.inputs) text += format("{}: {}\n", name, value);
  return digest::sha256_hex(text);
}

std::optional<Error> difference(const RunFacts& then, const RunFacts& now,
                                std::string_view folder) {
  for (const auto* facts : {&now, &then}) {
    for (const auto& [name, value] : facts->inputs) {
      if (name == kOnNan) continue;
      if (value_of(then, name) != value_of(now, name)) return differs(name, then, now, folder);
    }
  }
  return std::nullopt;
}

std::string to_text(const RunFacts& facts) {
  return Json{{"inputs", facts.inputs},         {"digest_class", facts.digest_class},
              {"batch_size", facts.batch_size}, {"way", way_json(facts.way)},
              {"overwrites", facts.overwrites}, {"is_comparable", facts.is_comparable},
              {"revision", facts.revision}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RunFacts> facts_from(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    RunFacts facts{.inputs = {},
                   .digest_class = json.at("digest_class").get<std::string>(),
                   .batch_size = json.at("batch_size").get<std::int64_t>(),
                   .way = way_from(json.at("way")),
                   .overwrites = json.at("overwrites").get<bool>(),
                   .is_comparable = json.at("is_comparable").get<bool>(),
                   .revision = json.value("revision", std::string())};
    json.at("inputs").get_to(facts.inputs);
    return facts;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tally::app
