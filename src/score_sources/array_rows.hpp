// SPDX-License-Identifier: Apache-2.0
// Rows of arrays in files that are no HDF5 files, read as they are needed and never as a whole.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tally/data/row_source.hpp>

namespace tally::app {

// `name` is that of the column in a predictions.h5: "logits". Rows have the type and shape that the
// file has. Throws Error(dataset).
std::shared_ptr<data::RowSource> npy_rows(const std::filesystem::path& path,
                                          const std::string& name);

// What the cells of a CSV file are: float32, a row of scores or values; int64, classes, of which a
// single column has rows of one value.
enum class CsvCells { numbers, classes };

// The first line names the columns; where names are those of the classes, they must stand in the
// order of the classes. Throws Error(dataset).
std::shared_ptr<data::RowSource> csv_rows(const std::filesystem::path& path,
                                          const std::string& name,
                                          const std::vector<std::string>& class_names,
                                          CsvCells cells = CsvCells::numbers);

}  // namespace tally::app
