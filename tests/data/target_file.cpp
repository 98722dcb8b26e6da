// SPDX-License-Identifier: Apache-2.0
#include "target_file.hpp"

namespace tally::data {

void TargetFile::write(const std::filesystem::path& path) const {
  raw::create(path, [&](hid_t file) {
    const std::int64_t schema = 1;
    raw::attribute(file, "/", "tally_schema", H5T_STD_I64LE, {}, &schema);
    raw::attribute(file, "/", "num_classes", H5T_STD_I64LE, {}, &num_classes);
    raw::text(file, "/", "task", task);
    if (ignore_index) {
      raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &*ignore_index);
    }
    const std::vector<float> inputs(dims[0] * 2, 0.5F);
    raw::dataset(file, "/inputs/x", H5T_IEEE_F32LE, {dims[0], 2}, inputs.data());
    raw::dataset(file, "/targets/label", type, dims, rows.data());
  });
}

TargetFile binary_file(const std::vector<std::int64_t>& labels) {
  return {.task = "binary",
          .num_classes = 2,
          .type = H5T_STD_I64LE,
          .dims = {labels.size()},
          .rows = bytes_of(labels)};
}

TargetFile multilabel_file(std::int64_t num_labels, const std::vector<std::uint8_t>& flags) {
  const auto columns = static_cast<hsize_t>(num_labels);
  return {.task = "multilabel",
          .num_classes = num_labels,
          .type = H5T_STD_U8LE,
          .dims = {flags.size() / columns, columns},
          .rows = bytes_of(flags)};
}

TargetFile mask_file(const std::vector<std::int16_t>& labels) {
  return {.task = "segmentation",
          .num_classes = 3,
          .type = H5T_STD_I16LE,
          .dims = {labels.size() / 2, 1, 2},
          .rows = bytes_of(labels),
          .ignore_index = 255};
}

TargetFile regression_file(std::int64_t num_outputs, const std::vector<float>& values) {
  const auto columns = static_cast<hsize_t>(num_outputs);
  return {.task = "regression",
          .num_classes = num_outputs,
          .type = H5T_IEEE_F32LE,
          .dims = {values.size() / columns, columns},
          .rows = bytes_of(values)};
}

}  // namespace tally::data
