// SPDX-License-Identifier: Apache-2.0
// Scores in a .npy or CSV file, which says nothing of them: what they are is said by --outputs.
#pragma once

#include <string>
#include <string_view>

#include <tally/data/data_set.hpp>

#include "saved_scores.hpp"

namespace tally::app {

enum class ArrayForm { none, npy, csv };
// A .npy file is known by its first bytes or its name, CSV by its name. An HDF5 file is neither,
// whatever its name. Throws Error(dataset) where it cannot be read.
ArrayForm array_form(const std::string& path);

// Rows are those of the samples of `info`, in order. Throws Error(usage) without --outputs
// (`asked`), Error(dataset) for a file that is not as expected.
SavedScores array_scores(const std::string& path, ArrayForm form, const std::string& asked,
                         const data::DataSetInfo& info, std::string_view task);

}  // namespace tally::app
