// SPDX-License-Identifier: Apache-2.0
// What a data set knows of the units of a predictions.h5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/predictions/predictions_text.hpp>

namespace tally::app {

class SampleMetadata {
 public:
  explicit SampleMetadata(data::DataSet data_set) : data_set_(std::move(data_set)) {}

  const data::DataSetInfo& info() const { return data_set_.info(); }

  // Its name, groups, of a question its text, its choices or its gold answers, of an image with
  // objects these and its number. Error(dataset) for a unit that the data set does not have.
  std::vector<predictions::Detail> of(std::int64_t index);
  // As data::read_sample_name, of a data set that has names.
  std::string name_of(std::int64_t index);
  // As data::group_values, of all samples.
  std::vector<std::int32_t> values_of(const data::ColumnInfo& group);
  // Clears the marks of units whose group (one of info().columns.groups) is another. Units ascend.
  void keep_group(const data::ColumnInfo& group, std::int32_t value,
                  std::span<const std::int64_t> units, std::span<std::uint8_t> keep);

 private:
  std::int64_t sample_of(std::int64_t unit);
  std::string gold_answers(std::int64_t question);
  void add_objects(std::int64_t image, std::vector<predictions::Detail>& details);

  data::DataSet data_set_;
  std::vector<std::int64_t> first_samples_;  // of units; empty until all are wanted
};

}  // namespace tally::app
