// SPDX-License-Identifier: Apache-2.0
// The files of a data set, whose samples lie one after the other, read as if they were one file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>

#include "reading/data_file.hpp"
#include "reading/staged_file.hpp"

namespace tally::data {

// Throws Error(dataset) as DataSet does. Rows are read by several threads at once.
class JoinedFiles {
 public:
  // An HDF5 file, or the index of several, which must agree in all but their rows.
  JoinedFiles(const std::filesystem::path& path, Targets targets);

  // Of several files: num_samples, file_bytes and rows are sums, of columns as of tables.
  const DataSetInfo& info() const { return info_; }

  // From now on inputs and lengths are neither expected nor staged, because others stand in their
  // place. Not for identity().
  void leave_inputs_out();

  // As those of a DataSet. Messages about rows name the file and count its rows.
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check);
  void expect(plan::SampleRange samples, int threads);
  std::int64_t staged_bytes(plan::SampleRange samples);
  void stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange samples);
  void require_unchanged() const;
  std::string stamp() const;
  std::int64_t bytes_read() const;
  std::string identity();
  std::optional<std::string> sample_identity();

 private:
  using UseSamples = std::function<void(DataFile&, plan::SampleRange)>;
  void for_each_file(plan::SampleRange samples, const UseSamples& use);
  void forget_files_before(std::size_t shard);
  void read_offsets(const ColumnInfo& column, std::size_t shard, plan::SampleRange rows,
                    std::span<std::byte> out);
  // Of several files.
  void open_shards(const std::filesystem::path& index, Targets targets);
  DataFile& open_shard(const std::filesystem::path& index, const std::filesystem::path& file,
                       Targets targets);
  void require_same_rows(const ColumnInfo& column);
  void join();

  std::vector<DataFile> files_;
  DataSetInfo info_;
  // Of several files, by path of a column: the row of all at which each file begins, and their
  // number.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> begins_;
  std::atomic<std::size_t> furthest_ = 0;  // file whose rows were read
};

}  // namespace tally::data
