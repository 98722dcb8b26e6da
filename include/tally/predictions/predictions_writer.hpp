// SPDX-License-Identifier: Apache-2.0
// Writes predictions.h5: one row per sample, in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tally/predictions/record_batch.hpp>

namespace tally::predictions {

class PredictionsWriter {
 public:
  // Creates `path`.partial-<pid>. Contiguous, unfiltered columns of num_rows rows; a ragged one is
  // <name>/offsets and <name>/values. num_elements[c]: of all rows of column c, where it is ragged;
  // may be left out where none is. The root attribute tally_predictions = 1 marks the file.
  // Error(output).
  PredictionsWriter(const std::filesystem::path& path, std::vector<ColumnSpec> columns,
                    std::int64_t num_rows, const std::vector<std::int64_t>& num_elements = {});
  PredictionsWriter(PredictionsWriter&&) noexcept;
  // Removes that file unless finish() was reached.
  ~PredictionsWriter();

  // Appends the next `num_rows` rows of one column; each column advances on its own. Of a ragged
  // one, the two below, which advance on their own, too.
  void append(std::int64_t column, std::int64_t num_rows, std::span<const std::byte> rows);
  // How many elements the next rows have: int64 [num_rows].
  void append_lengths(std::int64_t column, std::int64_t num_rows,
                      std::span<const std::byte> lengths);
  void append_elements(std::int64_t column, std::int64_t num_elements,
                       std::span<const std::byte> elements);

  // sha256 over, per dataset in order of name: its name, dtype, shape and the sha256 of its
  // little-endian bytes in sample order, as docs/formats.md says. Complete columns only, else
  // Error(internal).
  std::string digest() const;

  // Writes the text attributes, closes, opens the file again to see that all columns are there, and
  // syncs. The file, which only needs its name. Error(output) when anything fails; Error(internal)
  // for incomplete columns.
  std::filesystem::path finish(const std::map<std::string, std::string>& attributes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::predictions
