// Types and shapes that /targets/label may have.
#pragma once

#include <span>
#include <string>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/element.hpp>

#include "schema/task_rules.hpp"

namespace tally::data {

std::span<const hdf5::Element> label_elements(LabelShape form);

// `shape` is that of the whole dataset; inputs are read already.
bool is_label_shape(const DataSetInfo& info, const Shape& shape);
// "[N] or [N, 1] for 1 output".
std::string expected_label_shape(const DataSetInfo& info);

}  // namespace tally::data
