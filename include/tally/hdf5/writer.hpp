// SPDX-License-Identifier: Apache-2.0
// Writes an HDF5 file: contiguous, unfiltered, without time stamps, in the format of HDF5 1.10, so
// that the same content is the same bytes.
//
// The caller gives a temporary path, calls close(), and publishes the file (tally::publish_file).
// Every call is checked, close() too: a full disk is an Error(kind), never a valid-looking file. A
// Writer destroyed without close() leaves an unfinished file, which the caller removes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/hdf5/element.hpp>

namespace tally::hdf5 {

class Writer {
 public:
  enum class Mode {
    create,  // the file must not exist
    extend,  // adds objects to an existing file
  };

  // `what` begins the messages: "predictions file 'DIR/predictions.h5.partial' …".
  explicit Writer(const std::filesystem::path& path, Mode mode = Mode::create,
                  ErrorKind kind = ErrorKind::output, std::string_view what = "file");
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  // A dataset to be filled by write_rows; rows never written are undefined. A shape of {} is a
  // scalar. Not for text. Here and below, missing groups on the way to the object are made.
  void create_dataset(std::string_view path, Element element, const Shape& shape);
  void create_dataset(std::string_view path, DType dtype, const Shape& shape) {
    create_dataset(path, element_of(dtype), shape);
  }
  // Rows [first, first + count) of a dataset made by create_dataset: count * row bytes.
  void write_rows(std::string_view path, std::int64_t first, std::int64_t count,
                  std::span<const std::byte> rows);

  // A whole dataset at once; values.size() is the number of elements of `shape`.
  template <class T>
  void write(std::string_view path, const Shape& shape, std::span<const T> values) {
    create_dataset(path, element_for<T>(), shape);
    write_whole(path, std::as_bytes(values));
  }
  template <class T>
  void write(std::string_view path, const Shape& shape, const std::vector<T>& values) {
    write(path, shape, std::span<const T>(values));
  }
  // [strings.size()] UTF-8, filled up with NUL to the longest one; of variable length where that
  // would take more than 64 MiB. None holds NUL.
  void write_strings(std::string_view path, std::span<const std::string> strings);

  // Attributes of a group or dataset that exists; one of the same name is replaced. Texts are
  // stored with their own length, as UTF-8, filled up with NUL: where texts of variable length are
  // damaged, HDF5 1.10 reads past the end of its memory.
  void set_attribute(std::string_view object, std::string_view name, std::int64_t value);
  void set_attribute(std::string_view object, std::string_view name, double value);
  void set_attribute(std::string_view object, std::string_view name,
                     std::span<const double> values);
  void set_attribute(std::string_view object, std::string_view name, std::string_view text);
  // Literals would otherwise be ambiguous.
  void set_attribute(std::string_view object, std::string_view name, int value) {
    set_attribute(object, name, std::int64_t{value});
  }
  void set_attribute(std::string_view object, std::string_view name, const char* text) {
    set_attribute(object, name, std::string_view(text));
  }

  // Flushes and closes; no other call may follow. Throws if anything did not reach the file.
  void close();

 private:
  void write_whole(std::string_view path, std::span<const std::byte> values);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::hdf5
