// SPDX-License-Identifier: Apache-2.0
// Names of a data set's samples (/samples/name), such as the files that images were read from.
#pragma once

#include <cstdint>
#include <string>

#include <tally/data/data_set.hpp>

namespace tally::data {

// Names are optional, and only where every sample is a unit.
bool has_sample_names(const DataSetInfo& info);

// So long a name may be (SCHEMA.md), so that a damaged file cannot ask for any amount of memory.
inline constexpr std::int64_t kMostNameBytes = 65'535;

// The name of one sample of a data set that has names. It is any bytes: only verify() looks whether
// these are text. Reads nothing else. Not collective. Throws Error(dataset) for a longer name,
// where offsets do not ascend from 0 to the number of values, or where a checksum differs.
std::string read_sample_name(DataSet& data_set, std::int64_t sample);

}  // namespace tally::data
