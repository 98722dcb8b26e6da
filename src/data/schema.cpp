#include "schema.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/format.hpp>

#include "checksum_table.hpp"
#include "columns.hpp"
#include "refuse.hpp"

namespace tally::data {
namespace {

constexpr std::string_view kWriters =
    "Write it with the scripts of data_tools (data_tools/SCHEMA.md).";

void require_attribute(const hdf5::Reader& file, std::string_view name) {
  if (file.has_attribute("/", name)) return;
  refuse(file.path(), "", format("has no root attribute '{}'", name), kWriters);
}

void read_root(const hdf5::Reader& file, DataSetInfo& info) {
  for (const char* name : {"tally_schema", "task", "num_classes"}) require_attribute(file, name);
  const std::int64_t schema = file.int64_attribute("/", "tally_schema");
  if (schema != kSchema) {
    refuse(file.path(), "", format("has tally_schema {}, expected {}", schema, kSchema), kWriters);
  }
  info.task = file.string_attribute("/", "task");
  if (info.task != "multiclass") {
    refuse(file.path(), "",
           format("is for the task '{}', which this version does not evaluate", shown(info.task)),
           "It evaluates 'multiclass'.");
  }
  info.num_classes = file.int64_attribute("/", "num_classes");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (info.num_classes < 2 || info.num_classes > kMost) {
    refuse(file.path(), "",
           format("has num_classes {}, expected 2 to {}", info.num_classes, kMost));
  }
  if (file.has_attribute("/", "ignore_index")) {
    info.ignore_index = file.int64_attribute("/", "ignore_index");
  }
}

void read_class_names(const hdf5::Reader& file, DataSetInfo& info) {
  if (!file.exists("/class_names")) return;
  const hdf5::Dataset names = file.dataset("/class_names");
  names.require_element(hdf5::Element::text);
  if (names.info().shape != Shape{info.num_classes}) {
    refuse(file.path(), "/class_names",
           format("has shape {}, expected [{}] (num_classes)", to_string(names.info().shape),
                  info.num_classes));
  }
  info.class_names = names.read_strings();
}

// Tables are found from their columns; one that belongs to nothing is a mistake worth telling.
void refuse_orphan_tables(const hdf5::Reader& file) {
  const std::string prefix = format("{}/", kChecksums);
  for (const std::string& path : file.all_paths()) {
    if (!path.starts_with(prefix) || file.kind_of(path) == hdf5::ObjectKind::group) continue;
    const std::string column = path.substr(kChecksums.size());
    if (!file.exists(column)) {
      refuse(file.path(), shown(path),
             format("is a checksum table of {}, which does not exist", shown(column)));
    }
  }
}

}  // namespace

DataSetInfo read_schema(const hdf5::Reader& file) {
  DataSetInfo info;
  info.path = file.path();
  info.file_bytes = file.file_bytes();
  file.refuse_indirections();
  read_root(file, info);
  read_class_names(file, info);
  read_columns(file, info);
  refuse_orphan_tables(file);
  return info;
}

}  // namespace tally::data
