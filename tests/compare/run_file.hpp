// SPDX-License-Identifier: Apache-2.0
// A predictions.h5 as `tally evaluate` saves it, made of columns in memory, and easy to spoil.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/compare/comparison.hpp>
#include <tally/hdf5/writer.hpp>

#include "temporary_folder.hpp"

namespace tally::compare {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

class RunFile {
 public:
  // With every attribute that a run of this task has, and without columns.
  RunFile(const std::string& task, std::int64_t num_classes);

  // Adds a column, or takes it in place of the one of this name.
  template <class Value>
  RunFile& column(const std::string& name, const std::vector<Value>& values,
                  const Shape& row_shape = {}) {
    Shape shape{std::ssize(values) / num_elements(row_shape)};
    shape.insert(shape.end(), row_shape.begin(), row_shape.end());
    columns_[name] = [=](hdf5::Writer& file) { file.write("/" + name, shape, values); };
    return *this;
  }
  RunFile& attribute(const std::string& name, const std::string& text);
  RunFile& version(std::int64_t number);
  // Takes away the column or the attribute of this name.
  RunFile& without(const std::string& name);

  // Writes predictions.h5 into a folder, which is made if it is missing; returns the folder.
  std::filesystem::path write(const std::filesystem::path& folder) const;

 private:
  std::map<std::string, std::function<void(hdf5::Writer& file)>> columns_;
  std::map<std::string, std::string> attributes_;
  std::int64_t version_ = 1;
};

using Spoil = std::function<void(RunFile& run)>;

// A way to spoil the second of two runs, and what is said of it.
struct Refusal {
  std::string name;  // of the case
  Spoil spoil;
  std::string text;  // a part of the message
  ErrorKind kind = ErrorKind::dataset;
};

// The name of a parametrised case.
std::string case_name(const testing::TestParamInfo<Refusal>& info);

// Runs that lie in a folder of their own.
class RunFilesTest : public testing::Test {
 protected:
  // Those of a test have the names a and b; the next two of the same test a2 and b2.
  Comparison compare(const RunFile& a, const RunFile& b, const Options& options = {});
  // The text of the Error of this kind; a failure of the test if there is none.
  std::string refusal_of(const RunFile& a, const RunFile& b, ErrorKind kind = ErrorKind::dataset,
                         const std::vector<std::string>& metrics = {});
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

 private:
  predictions::TemporaryFolder folder_;
  int num_pairs_ = 0;
};

// The entry of this name; a failure of the test if it is not compared.
const MetricDifference& metric_of(const Comparison& comparison, const std::string& name);
// Both right, only A, only B, neither.
std::vector<std::int64_t> counts_of(const Comparison& comparison);

}  // namespace tally::compare
