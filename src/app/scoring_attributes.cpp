#include "scoring_attributes.hpp"

#include <tally/base/format.hpp>

namespace tally::app {

std::map<std::string, std::string> scoring_attributes(const Job& job) {
  const auto& info = job.data.set->info();
  std::map<std::string, std::string> attributes{
      {"task", job.task_name},
      {"outputs", std::string(metrics::name(job.outputs))},
      {"definitions", job.config.definitions},
      {"calibration_bins", format("{}", job.config.calibration_bins)},
      {"label_smoothing", format("{}", job.config.label_smoothing)},
      {"curves", job.config.curves}};
  if (job.task_name == "binary" || job.task_name == "multilabel") {
    attributes["threshold"] = format("{}", job.config.threshold);
  }
  if (info.num_classes > 0) attributes["num_classes"] = format("{}", info.num_classes);
  if (info.ignore_index) attributes["ignore_index"] = format("{}", *info.ignore_index);
  if (!job.class_weights_digest.empty()) {
    attributes["class_weights_sha256"] = job.class_weights_digest;
  }
  return attributes;
}

}  // namespace tally::app
