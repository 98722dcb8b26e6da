// SPDX-License-Identifier: Apache-2.0
// One predictions.h5, opened with distrust.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/compare/comparison.hpp>
#include <tally/hdf5/reader.hpp>

namespace tally::compare {

class SavedRun {
 public:
  // `given`: a result folder or the file itself. Error(usage): there are no results;
  // Error(dataset): the file is damaged or no predictions file.
  explicit SavedRun(const std::filesystem::path& given);

  const RunInfo& info() const { return info_; }
  // The file as messages name it.
  std::string name() const;
  std::int64_t num_samples() const { return static_cast<std::int64_t>(indices_.size()); }
  // Global indices of the samples, ascending.
  const std::vector<std::int64_t>& indices() const { return indices_; }
  // From metrics.h5 beside the file; empty if that has none.
  std::vector<std::string> class_names() const;

  // Text attributes; Error(dataset) for a missing one.
  std::string attribute(std::string_view name) const;
  std::optional<std::string> find_attribute(std::string_view name) const;

  bool has_column(std::string_view name) const;
  // All of [samples, row_shape]. Error(dataset) names the column, and the --save value that gives
  // it.
  template <class T>
  std::vector<T> column(std::string_view name, std::string_view save,
                        const Shape& row_shape = {}) const {
    const hdf5::Dataset dataset = open(name, save, row_shape);
    return dataset.read_all<T>();
  }
  // The same, of float32, opened to be read piece by piece.
  hdf5::Dataset rows(std::string_view name, std::string_view save, const Shape& row_shape) const;
  // Reads all of them window by window. values: [count, row_shape], the visitor's to change.
  using VisitRows =
      std::function<void(std::int64_t first, std::int64_t count, std::span<float> values)>;
  void for_each_window(std::string_view name, const Shape& row_shape, const VisitRows& visit) const;

  // Error(dataset) for one value: "…, /loss[17] = nan, expected …".
  [[noreturn]] void throw_dataset_error(std::string_view column, std::size_t row,
                                        std::string_view value, std::string_view expected) const;

 private:
  hdf5::Dataset open(std::string_view name, std::string_view save, const Shape& row_shape) const;

  std::filesystem::path path_;
  hdf5::Reader reader_;
  RunInfo info_;
  std::vector<std::int64_t> indices_;
};

// Error(dataset) unless both are of the same samples, and Error(usage) unless they are of one task.
// The samples are those of one data set, or of two that hold the same ones by name, prepared
// differently: then a line says so.
std::optional<std::string> require_same_samples(const SavedRun& a, const SavedRun& b);

}  // namespace tally::compare
