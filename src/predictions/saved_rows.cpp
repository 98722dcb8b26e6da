// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/saved_rows.hpp>

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "ragged_column.hpp"

namespace tally::predictions {

hdf5::Reader open_predictions(const std::filesystem::path& path) {
  hdf5::Reader reader(path, ErrorKind::dataset, "predictions file");
  // A file from elsewhere must not lead to other files.
  reader.refuse_indirections();
  if (reader.has_attribute("/", kFileMark)) return reader;
  throw Error(ErrorKind::dataset,
              format("file '{}' holds no predictions (it has no root attribute '{}')",
                     reader.path().string(), kFileMark),
              "Give a predictions.h5 that 'tally evaluate' wrote.");
}

namespace {

// Returns the --save value that gives the column: columns that have none of their own come with
// `labels`.
std::string_view save_value_of(std::string_view column) {
  for (const std::string_view value : {"topk", "probabilities", "logits"}) {
    if (value == column) return value;
  }
  return "labels";
}

// The bytes of the file need not be aligned for the stored type, hence the copy.
template <class Stored, class T>
std::vector<T> converted(std::span<const std::byte> bytes) {
  std::vector<Stored> stored(bytes.size() / sizeof(Stored));
  if (!stored.empty()) std::memcpy(stored.data(), bytes.data(), bytes.size());
  return {stored.begin(), stored.end()};
}

// Returns no values where the elements are not read as T: uint64 is read as neither, and floats not
// as integers. Callers compare the number of values. An int64 beyond 2^53 is rounded as double.
template <class T>
std::vector<T> numbers(hdf5::Element element, std::span<const std::byte> bytes) {
  using hdf5::Element;
  switch (element) {
    case Element::u8:
      return converted<std::uint8_t, T>(bytes);
    case Element::i8:
      return converted<std::int8_t, T>(bytes);
    case Element::u16:
      return converted<std::uint16_t, T>(bytes);
    case Element::i16:
      return converted<std::int16_t, T>(bytes);
    case Element::u32:
      return converted<std::uint32_t, T>(bytes);
    case Element::i32:
      return converted<std::int32_t, T>(bytes);
    case Element::i64:
      return converted<std::int64_t, T>(bytes);
    case Element::f32:
      if constexpr (std::is_floating_point_v<T>) return converted<float, T>(bytes);
      break;
    case Element::f64:
      if constexpr (std::is_floating_point_v<T>) return converted<double, T>(bytes);
      break;
    case Element::u64:
    case Element::text:
      break;
  }
  return {};
}

[[noreturn]] void refuse_missing(const SavedRows& saved, std::string_view column) {
  throw Error(ErrorKind::dataset,
              format("predictions file '{}' has no column '{}'", saved.name(), column),
              format("Evaluate again with --save {}.", save_value_of(column)));
}

RaggedColumn open_ragged(const SavedRows& saved, std::string_view column) {
  if (!saved.has(column)) refuse_missing(saved, column);
  RaggedColumn ragged(saved.reader(), column);
  if (ragged.num_rows() == saved.num_rows()) return ragged;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{} is {}, expected {} rows", saved.name(),
                     printable(column), ragged.shape_text(), saved.num_rows()),
              "The file is damaged: evaluate again.");
}

}  // namespace

SavedRows::SavedRows(const std::filesystem::path& path)
    : reader_(open_predictions(path)),
      task_(attribute("task").value_or("")),
      columns_(reader_.children("/")) {
  if (task_.empty()) {
    throw Error(ErrorKind::dataset, format("predictions file '{}' does not say its task", name()),
                "Evaluate again with this version of tally.");
  }
  // Every column is compared with /index, which each file has. It must be known before open()
  // checks a column, /index included.
  num_rows_ = reader_.exists("/index") ? reader_.dataset("/index").info().num_rows() : 0;
  const hdf5::Dataset index = open("index");
  index.require_element(hdf5::Element::i64);
  if (index.info().shape.size() == 1) return;
  throw Error(ErrorKind::dataset, format("predictions file '{}', /index is {}, expected [rows]",
                                         name(), to_string(index.info().shape)));
}

std::string SavedRows::name() const { return printable(reader_.path().string()); }

std::optional<std::string> SavedRows::attribute(std::string_view name) const {
  if (!reader_.has_attribute("/", name)) return std::nullopt;
  return reader_.string_attribute("/", name);
}

bool SavedRows::has(std::string_view column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

hdf5::Dataset SavedRows::open(std::string_view column) const {
  if (!has(column)) refuse_missing(*this, column);
  hdf5::Dataset dataset = reader_.dataset(format("/{}", column));
  const auto& shape = dataset.info().shape;
  if (!shape.empty() && shape[0] == num_rows_) return dataset;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{} is {}, expected {} rows", name(),
                     printable(column), to_string(shape), num_rows_),
              "The file is damaged: evaluate again.");
}

template <class T>
std::vector<T> SavedRows::read(std::string_view column, std::int64_t first,
                               std::int64_t count) const {
  const hdf5::Dataset dataset = open(column);
  const auto& info = dataset.info();
  std::vector<std::byte> bytes(to_size(count * info.row_bytes()));
  dataset.read_rows(first, count, bytes);
  auto values = numbers<T>(info.element, bytes);
  if (std::ssize(values) == count * num_elements(info.row_shape())) return values;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{} is of {}, expected {}", name(), column,
                     hdf5::name(info.element), std::is_integral_v<T> ? "integers" : "numbers"));
}

template std::vector<std::int64_t> SavedRows::read(std::string_view, std::int64_t,
                                                   std::int64_t) const;
template std::vector<double> SavedRows::read(std::string_view, std::int64_t, std::int64_t) const;

template <class T>
std::vector<T> SavedRows::read_each(std::string_view column, std::int64_t first,
                                    std::int64_t count) const {
  if (open(column).info().shape.size() == 1) return read<T>(column, first, count);
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', /{} has several values in a row", name(), column));
}

template std::vector<std::int64_t> SavedRows::read_each(std::string_view, std::int64_t,
                                                        std::int64_t) const;
template std::vector<double> SavedRows::read_each(std::string_view, std::int64_t,
                                                  std::int64_t) const;

std::vector<std::int64_t> SavedRows::lengths(std::string_view column, std::int64_t first,
                                             std::int64_t count) const {
  return open_ragged(*this, column).lengths(first, count);
}

template <class T>
std::vector<T> SavedRows::elements(std::string_view column, std::int64_t first,
                                   std::int64_t count) const {
  return open_ragged(*this, column).elements<T>(first, count);
}

template std::vector<std::uint8_t> SavedRows::elements(std::string_view, std::int64_t,
                                                       std::int64_t) const;
template std::vector<double> SavedRows::elements(std::string_view, std::int64_t,
                                                 std::int64_t) const;

}  // namespace tally::predictions
