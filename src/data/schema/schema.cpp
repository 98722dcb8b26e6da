// SPDX-License-Identifier: Apache-2.0
#include "schema/schema.hpp"

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "dataset_error.hpp"
#include "schema/checksums.hpp"
#include "schema/columns.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

void require_attribute(const hdf5::Reader& file, std::string_view name) {
  if (file.has_attribute("/", name)) return;
  throw_dataset_error(file.path(), "", format("has no root attribute '{}'", name));
}

void read_ignore_index(const hdf5::Reader& file, const TaskRules& rules, DataSetInfo& info) {
  // Labels of sequences need it, because not every place of a row is scored.
  const bool is_needed = rules.label == LabelShape::sequence;
  if (is_needed) require_attribute(file, "ignore_index");
  if (!file.has_attribute("/", "ignore_index")) return;
  info.ignore_index = file.int64_attribute("/", "ignore_index");
  if (!rules.ignore_index) {
    throw_dataset_error(file.path(), "",
                        format("has ignore_index {}, but the task {} scores every target",
                               *info.ignore_index, info.task),
                        "Leave samples without a target out, and the attribute.");
  }
  if (!contains(*rules.ignore_index, *info.ignore_index)) {
    throw_dataset_error(file.path(), "",
                        format("has ignore_index {}, expected {} for the task {}",
                               *info.ignore_index, range_text(*rules.ignore_index), info.task));
  }
  // A token that is the mark, too, could never be scored. Where a sample has one class that is
  // allowed: the samples of such a class are left out.
  if (is_needed && contains({0, info.num_classes - 1}, *info.ignore_index)) {
    throw_dataset_error(file.path(), "",
                        format("has ignore_index {}, which is one of the {} {}", *info.ignore_index,
                               info.num_classes, has_vocabulary(rules) ? "tokens" : "classes"));
  }
}

void read_num_classes(const hdf5::Reader& file, const ValueRange& allowed, DataSetInfo& info) {
  require_attribute(file, "num_classes");
  info.num_classes = file.int64_attribute("/", "num_classes");
  if (contains(allowed, info.num_classes)) return;
  throw_dataset_error(file.path(), "",
                      format("has num_classes {}, expected {} for the task {}", info.num_classes,
                             range_text(allowed), info.task));
}

void read_root(const hdf5::Reader& file, Targets targets, DataSetInfo& info) {
  for (const char* name : {"tally_schema", "task"}) require_attribute(file, name);
  // The version comes first: what else is in the file has its meaning only by it.
  const std::int64_t schema = file.int64_attribute("/", "tally_schema");
  if (schema != kSchema) {
    throw_dataset_error(file.path(), "",
                        format("has tally_schema {}, expected {}", schema, kSchema));
  }
  info.task = file.string_attribute("/", "task");
  const TaskRules* rules = find_task(info.task);
  if (rules == nullptr) {
    throw_dataset_error(
        file.path(), "",
        format("is for the task '{}', which this version does not evaluate", shown(info.task)),
        format("It evaluates: {}.", fmt::join(task_names(), ", ")));
  }
  // A data set of any task can be predicted: what belongs to its targets is not read and may be
  // missing.
  if (targets == Targets::left_out) {
    info.task = task_name(TaskKind::predict);
    return;
  }
  if (rules->num_classes) read_num_classes(file, *rules->num_classes, info);
  read_ignore_index(file, *rules, info);
  info.no_answer =
      file.has_attribute("/", "no_answer") && file.int64_attribute("/", "no_answer") != 0;
}

void read_class_names(const hdf5::Reader& file, DataSetInfo& info) {
  // The task `predict` has no classes, so that names of another task are ignored there.
  if (!file.exists("/class_names") || !rules_of(info).num_classes) return;
  const hdf5::Dataset names = file.dataset("/class_names");
  names.require_element(hdf5::Element::text);
  if (names.info().shape != Shape{info.num_classes}) {
    throw_dataset_error(file.path(), "/class_names",
                        format("has shape {}, expected [{}] (num_classes)",
                               to_string(names.info().shape), info.num_classes));
  }
  info.class_names = names.read_strings();
}

// Tables are found from their columns, so one that belongs to no column would be ignored silently.
// It is refused, because its column is probably misspelt or missing.
void refuse_orphan_tables(const hdf5::Reader& file) {
  const std::string prefix = format("{}/", kChecksums);
  for (const std::string& path : file.all_paths()) {
    if (!path.starts_with(prefix) || file.kind_of(path) == hdf5::ObjectKind::group) continue;
    const std::string column = path.substr(kChecksums.size());
    if (!file.exists(column)) {
      throw_dataset_error(file.path(), shown(path),
                          format("is a checksum table of {}, which does not exist", shown(column)));
    }
  }
}

}  // namespace

DataSetInfo read_schema(const hdf5::Reader& file, Targets targets) {
  DataSetInfo info;
  info.path = file.path();
  info.file_bytes = file.file_bytes();
  // This comes first: nothing of the file is trusted before it is known to lie in the file itself.
  // Columns come last, because the task at the root decides which there must be.
  file.refuse_indirections();
  read_root(file, targets, info);
  read_class_names(file, info);
  read_columns(file, info);
  refuse_orphan_tables(file);
  return info;
}

}  // namespace tally::data
