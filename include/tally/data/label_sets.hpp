// SPDX-License-Identifier: Apache-2.0
// Classes of which several are right for a sample (/targets/labels), as ImageNet's reassessed
// labels have them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/data/data_set.hpp>

namespace tally::data {

// The right classes of samples from the first one on; none where a sample is not scored.
struct LabelSets {
  std::vector<std::int64_t> offsets = {0};  // [samples + 1]
  std::vector<std::int64_t> classes;

  std::int64_t num_samples() const { return std::ssize(offsets) - 1; }
  std::span<const std::int64_t> of(std::int64_t sample) const {
    const auto begin = offsets.at(to_size(sample)), end = offsets.at(to_size(sample) + 1);
    return std::span(classes).subspan(to_size(begin), to_size(end - begin));
  }
};

bool has_label_sets(const DataSetInfo& info);

// Of the first `num_samples` samples, held in memory: 8 bytes a class. Not collective. Throws
// Error(dataset) where offsets do not ascend, a class is not in range or stands twice in a row, or
// a checksum differs.
LabelSets read_label_sets(DataSet& data_set, std::int64_t num_samples);

}  // namespace tally::data
