// SPDX-License-Identifier: Apache-2.0
#include <tally/session/session.hpp>

#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

namespace tally::app {

bool is_rescoring_units(const EvaluationSession& session) {
  return session.source->is_rescoring_units();
}

// --limit counts what is scored: where saved units are, no sample is read, and units are the
// samples of the session.
std::int64_t num_samples(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  const auto all = is_rescoring_units(session) ? info.num_units : info.num_samples;
  return session.config.scoring.limit > 0 ? std::min(session.config.scoring.limit, all) : all;
}

std::filesystem::path progress_folder(const EvaluationSession& session) {
  return std::filesystem::path(session.output.folder) / resume::kProgressFolder;
}

std::map<std::string, std::string> scoring_attributes(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  std::map<std::string, std::string> attributes{
      {"task", session.scoring.task_name},
      {"outputs", std::string(metrics::name(session.scoring.outputs))},
      {"definitions", session.config.scoring.definitions},
      {"calibration_bins", format("{}", session.config.scoring.calibration_bins)},
      {"label_smoothing", format("{}", session.config.scoring.label_smoothing)},
      {"curves", session.config.scoring.curves}};
  if (task_traits(session.scoring.task_name).has_threshold) {
    attributes["threshold"] = format("{}", session.config.scoring.threshold);
  }
  if (session.scoring.has_label_sets) {
    const bool has_scores = session.scoring.outputs != metrics::OutputKind::classes;
    attributes["label_sets"] = has_scores ? "best ranked" : "predicted, else the first";
  }
  if (session.config.scoring.classes_by == "name") attributes["classes_by"] = "name";
  if (info.num_classes > 0) attributes["num_classes"] = format("{}", info.num_classes);
  if (info.ignore_index) attributes["ignore_index"] = format("{}", *info.ignore_index);
  if (!session.scoring.class_weights_digest.empty()) {
    attributes["class_weights_sha256"] = session.scoring.class_weights_digest;
  }
  if (!session.scoring.valid_classes_digest.empty()) {
    attributes["valid_classes_sha256"] = session.scoring.valid_classes_digest;
  }
  return attributes;
}

}  // namespace tally::app
