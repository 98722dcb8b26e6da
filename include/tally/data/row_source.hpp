// SPDX-License-Identifier: Apache-2.0
// Rows that stand in the place of a data set's inputs: the scores that `tally score` reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>

namespace tally::data {

class RowSource {
 public:
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // Name, dtype, shape and number of the rows.
  const ColumnInfo& column() const { return column_; }
  // For messages: "/logits of 'p.h5'".
  virtual std::string place() const = 0;

  // Rows [first, first + count) into the front of `out`; from several threads at once. Throws
  // Error(dataset).
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out);
  // Of the rows that were read.
  std::int64_t bytes_read() const { return bytes_read_; }

  // As DataSet has them.
  virtual void expect(plan::SampleRange /*rows*/, int /*threads*/) {}
  virtual void require_unchanged() const = 0;
  virtual std::string stamp() const = 0;

 protected:
  explicit RowSource(ColumnInfo column) : column_(std::move(column)) {}

 private:
  // These rows are there, and `out` is as long as they are.
  virtual void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) = 0;

  ColumnInfo column_;
  std::atomic<std::int64_t> bytes_read_ = 0;
};

// A dataset ("/logits") of a predictions file. Throws Error(dataset).
std::shared_ptr<RowSource> hdf5_rows(const std::filesystem::path& file, const std::string& dataset);

}  // namespace tally::data
