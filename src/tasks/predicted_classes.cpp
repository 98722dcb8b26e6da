// SPDX-License-Identifier: Apache-2.0
#include "predicted_classes.hpp"

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/decided_classes.hpp>

#include "batch_tensors.hpp"

namespace tally::tasks {

metrics::MetricOptions metric_options(const TaskOptions& options) {
  metrics::MetricOptions made = options.metrics;
  made.task = options.task;
  made.has_scores = has_scores(options);
  made.has_label_sets = options.right_classes != nullptr;
  return made;
}

void check_saves_no_scores(const TaskOptions& options) {
  const auto of_labels = [](SaveColumns group) { return group == SaveColumns::labels; };
  if (std::ranges::all_of(options.save, of_labels)) return;
  throw Error(ErrorKind::usage, "predicted classes alone have no scores to save",
              "Use --save labels, or --save none.");
}

const TensorView& classes_in(std::span<const TensorView> outputs, std::int64_t labels) {
  const TensorView& classes = only_output(outputs);
  const Shape row(classes.shape.begin() + (classes.shape.empty() ? 0 : 1), classes.shape.end());
  const bool is_of_rows = !classes.shape.empty();
  const bool is_single = labels <= 1 && row.empty();
  const bool fits = is_of_rows && metrics::are_decided_classes(classes.dtype) &&
                    (is_single || (labels > 0 && row == Shape{labels}));
  if (fits) return classes;
  throw Error(
      ErrorKind::model,
      format("the predicted classes are {} {}, expected integers [rows{}]", name(classes.dtype),
             to_string(classes.shape), labels == 0 ? "" : format(", {}", labels)),
      labels == 0 ? "Save the class of each sample, or name the kind of scores: --outputs."
                  : "Save 0 or 1 for each label of each sample, or name the kind of scores: "
                    "--outputs.");
}

std::vector<std::string> notes_without_scores(const metrics::MetricSet& metrics) {
  const auto& names = metrics.without_scores();
  if (names.empty()) return {};
  return {format("only predicted classes are scored; left out for lack of scores: {}",
                 fmt::join(names, ", "))};
}

}  // namespace tally::tasks
