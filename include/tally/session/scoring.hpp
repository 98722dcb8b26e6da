// The task of a run, and how the outputs of a model are scored by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tally/metrics/output_kind.hpp>
#include <tally/tasks/task.hpp>

namespace tally::app {

// The subgroups of one dataset under /groups.
struct Subgroups {
  std::size_t column = 0;            // in DataSetInfo::groups
  std::vector<std::int32_t> values;  // all that occur in the evaluated samples, ascending
};

struct Scoring {
  std::string task_name;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  std::string class_weights_digest;  // SHA-256; empty without class weights
  std::unique_ptr<tasks::Task> task;
  std::vector<Subgroups> subgroups;
  std::int64_t num_units = 0;  // that are scored, of all ranks

  tasks::Capabilities capabilities() const { return task->capabilities(); }
};

}  // namespace tally::app
