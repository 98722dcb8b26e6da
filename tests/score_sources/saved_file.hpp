// SPDX-License-Identifier: Apache-2.0
// A predictions.h5 of any content, in one expression.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <tally/hdf5/writer.hpp>

namespace tally::app {

class SavedFile {
 public:
  // The file must not exist.
  SavedFile(const std::filesystem::path& path, const std::string& task) : writer_(path) {
    writer_.set_attribute("/", "tally_predictions", 1);
    writer_.set_attribute("/", "task", task);
  }

  template <class T>
  SavedFile& put(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    writer_.write("/" + name, shape, values);
    return *this;
  }
  // One value in a row.
  template <class T>
  SavedFile& each(const std::string& name, const std::vector<T>& values) {
    return put(name, {std::ssize(values)}, values);
  }
  // A row is any number of values.
  template <class T>
  SavedFile& ragged(const std::string& name, const std::vector<std::vector<T>>& rows) {
    std::vector<std::int64_t> offsets{0};
    std::vector<T> values;
    for (const auto& row : rows) {
      values.insert(values.end(), row.begin(), row.end());
      offsets.push_back(std::ssize(values));
    }
    return each(name + "/offsets", offsets).each(name + "/values", values);
  }
  SavedFile& texts(const std::string& name, const std::vector<std::string>& rows) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const std::string& text : rows) bytes.emplace_back(text.begin(), text.end());
    return ragged(name, bytes);
  }
  SavedFile& strings(const std::string& name, const std::vector<std::string>& values) {
    writer_.write_strings("/" + name, values);
    return *this;
  }
  SavedFile& set(const std::string& attribute, const std::string& value) {
    writer_.set_attribute("/", attribute, value);
    return *this;
  }
  void close() { writer_.close(); }

 private:
  hdf5::Writer writer_;
};

}  // namespace tally::app
