// SPDX-License-Identifier: Apache-2.0
// One HDF5 file of a data set: its schema, and a reader for each of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/plan/batch_grid.hpp>

#include "reading/column_reader.hpp"
#include "reading/staged_file.hpp"

namespace tally::data {

// Throws Error(dataset) as DataSet does. Rows are read by several threads at once.
class DataFile {
 public:
  DataFile(const std::filesystem::path& path, Targets targets);

  const DataSetInfo& info() const { return info_; }

  // From now on inputs and lengths are neither expected nor staged. Not for identity().
  void leave_inputs_out();

  // As DataSet::read_rows(), of a column that may be described as part of a larger one.
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check);
  void expect(plan::SampleRange samples, int threads);
  // Keeps no rows of samples for later, for which memory is needed.
  void forget_samples();
  std::int64_t staged_bytes(plan::SampleRange samples);
  void stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange samples);

  void require_unchanged() const { file_.require_unchanged(); }
  std::string stamp() const { return file_.stamp(); }
  std::int64_t bytes_read() const;

  // As those of a DataSet. The identity is computed once: an index is compared with it, and the
  // data set asks for it again.
  const std::string& identity();
  std::optional<std::string> sample_identity();

 private:
  ColumnReader& reader_of(const ColumnInfo& column);
  std::string compute_identity();

  hdf5::Reader file_;
  DataSetInfo info_;
  std::map<std::string, ColumnReader, std::less<>> columns_;  // by path
  std::string identity_;                                      // empty until it is asked for
};

}  // namespace tally::data
