// SPDX-License-Identifier: Apache-2.0
// Small predictions.h5 with columns of any content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <tally/hdf5/writer.hpp>

#include "temporary_folder.hpp"

namespace tally::predictions {

class SavedColumns {
 public:
  SavedColumns(const std::string& task, std::int64_t num_rows)
      : num_rows_(num_rows), writer_(path()) {
    writer_.set_attribute("/", "tally_predictions", 1);
    writer_.set_attribute("/", "task", task);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(num_rows));
    std::iota(indices.begin(), indices.end(), 100);
    add("index", indices);
  }
  // As many values in each row as fit.
  template <class T>
  void add(const std::string& name, const std::vector<T>& values, Shape shape = {}) {
    if (shape.empty()) shape = {num_rows_};
    writer_.write("/" + name, shape, values);
  }
  void add_texts(const std::string& name, const std::vector<std::string>& texts) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::uint8_t> bytes;
    for (const auto& text : texts) {
      bytes.insert(bytes.end(), text.begin(), text.end());
      offsets.push_back(std::ssize(bytes));
    }
    writer_.write("/" + name + "/values", {std::ssize(bytes)}, bytes);
    writer_.write("/" + name + "/offsets", {std::ssize(offsets)}, offsets);
  }
  void add_foreign_texts(const std::string& name, const std::vector<std::string>& texts) {
    writer_.write_strings("/" + name, texts);
  }
  void set(const std::string& name, const std::string& value) {
    writer_.set_attribute("/", name, value);
  }
  std::filesystem::path close() {
    writer_.close();
    return path();
  }

 private:
  std::filesystem::path path() const { return folder_.path() / "p.h5"; }

  TemporaryFolder folder_;
  std::int64_t num_rows_;
  hdf5::Writer writer_;
};

}  // namespace tally::predictions
