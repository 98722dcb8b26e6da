// SPDX-License-Identifier: Apache-2.0
// Data sets of several files, in a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/data/data_set.hpp>

#include "object_file.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"
#include "shards/index_file.hpp"

namespace tally::data {

class Shards : public testing::Test {
 protected:
  // Files of these, and an index of them.
  template <class File>
  std::filesystem::path write(const std::vector<File>& files,
                              const std::function<void(IndexFile&)>& change = {}) {
    IndexFile index{.task = std::is_same_v<File, ObjectFile> ? "detection" : "multiclass"};
    for (const File& file : files) {
      const std::string name = format("part-{}.h5", next_++);
      file.write(folder_ / name);
      const DataSet data_set(folder_ / name);
      index.add(name, data_set.info().num_samples, data_set.identity());
    }
    if (change) change(index);
    const auto path = folder_ / format("set-{}.shards.json", next_++);
    index.write(path);
    return path;
  }
  raw::TemporaryFolder folder_;
  int next_ = 0;
};

inline std::vector<SampleFile> three(std::int64_t rows_per_block,
                                     SampleStorage storage = SampleStorage::contiguous) {
  return {{.num_samples = 5, .rows_per_block = rows_per_block, .storage = storage},
          {.num_samples = 1, .rows_per_block = rows_per_block, .storage = storage},
          {.num_samples = 9, .rows_per_block = rows_per_block, .storage = storage}};
}

}  // namespace tally::data
