// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_writer.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/writer.hpp>

#include "ragged_column.hpp"

namespace tally::predictions {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian bytes");

constexpr char kWhat[] = "predictions file";
constexpr std::int64_t kOffsetBytes = sizeof(std::int64_t);

// So many rows at a time are converted from lengths to offsets, which bounds the memory for them.
constexpr std::int64_t kRowsAtOnce = 8192;

struct Dataset {
  std::string name;  // "label", "answer/offsets"
  DType dtype = DType::i64;
  Shape shape;
  std::int64_t next_row = 0;  // rows written so far
  digest::Sha256 hash;        // of those rows
  std::string path() const { return "/" + name; }
  bool is_complete() const { return next_row == shape[0]; }
  std::int64_t row_bytes() const {
    return size_bytes(dtype) * num_elements(std::span(shape).subspan(1));
  }
};

struct Column {
  bool ragged = false;
  Dataset values;
  std::optional<Dataset> offsets;  // of a ragged column
  std::int64_t next_offset = 0;    // the elements of the rows that are in `offsets`
};

Dataset make_dataset(std::string name, DType dtype, std::int64_t num_rows, const Shape& row_shape) {
  return {.name = std::move(name),
          .dtype = dtype,
          .shape = shape_of_rows(num_rows, row_shape),
          .hash = {}};
}

Column make_column(const ColumnSpec& spec, std::int64_t num_rows, std::int64_t num_elements) {
  Column column;
  column.ragged = spec.ragged;
  if (!spec.ragged) {
    column.values = make_dataset(spec.name, spec.dtype, num_rows, spec.row_shape);
    return column;
  }
  column.values = make_dataset(spec.name + kValues, spec.dtype, num_elements, spec.row_shape);
  // Row i ends where row i + 1 begins, so there is one offset more than there are rows.
  column.offsets = make_dataset(spec.name + kOffsets, DType::i64, num_rows + 1, {});
  return column;
}

void remove_quietly(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

// HDF5 leaves an empty file behind where it cannot write the first bytes. A file that was there
// before is not ours to remove.
hdf5::Writer create_file(const std::filesystem::path& file) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(file, ignored);
  try {
    return hdf5::Writer(file, hdf5::Writer::Mode::create, ErrorKind::output, kWhat);
  } catch (...) {
    if (!existed) remove_quietly(file);
    throw;
  }
}

// The rename makes the file final, so it must open and have all columns before.
void verify(const hdf5::Reader& reader, const Dataset& expected) {
  const hdf5::Dataset found = reader.dataset(expected.path());
  found.require_element(hdf5::element_of(expected.dtype));
  if (found.info().shape == expected.shape) return;
  throw Error(
      ErrorKind::output,
      format("{} '{}', {} has shape {} after writing, expected {}", kWhat, reader.path().string(),
             expected.path(), to_string(found.info().shape), to_string(expected.shape)),
      "Check the file system.");
}

}  // namespace

struct PredictionsWriter::Impl {
  explicit Impl(const std::filesystem::path& final_path)
      : temporary(partial_path(final_path)), file(create_file(temporary)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (!finished) remove_quietly(temporary);
  }

  Column& column(std::int64_t index, bool ragged);
  void create(const Dataset& dataset);
  void write(Dataset& dataset, std::int64_t num_rows, std::span<const std::byte> rows);
  void write_offsets(Column& column, std::span<const std::int64_t> lengths);
  // Lists the datasets of all columns, two of a ragged one.
  std::vector<const Dataset*> datasets() const;
  void require_complete() const;

  std::filesystem::path temporary;
  hdf5::Writer file;
  std::vector<Column> columns;
  bool finished = false;
};

Column& PredictionsWriter::Impl::column(std::int64_t index, bool ragged) {
  Column& found = columns.at(to_size(index));
  if (found.ragged == ragged) return found;
  throw Error(ErrorKind::internal,
              format("column '{}' is {}ragged", found.values.name, ragged ? "not " : ""));
}

void PredictionsWriter::Impl::create(const Dataset& dataset) {
  file.create_dataset(dataset.path(), dataset.dtype, dataset.shape);
}

void PredictionsWriter::Impl::write(Dataset& dataset, std::int64_t count,
                                    std::span<const std::byte> rows) {
  if (count < 0 || count > dataset.shape[0] - dataset.next_row ||
      std::ssize(rows) != count * dataset.row_bytes()) {
    throw Error(ErrorKind::internal,
                format("column '{}' of {} rows gets rows {} + {} in {} bytes", dataset.name,
                       dataset.shape[0], dataset.next_row, count, rows.size()));
  }
  // Rows come in order, so the digest of a dataset is made as they pass: the file is not read again
  // for it.
  file.write_rows(dataset.path(), dataset.next_row, count, rows);
  dataset.hash.update(rows);
  dataset.next_row += count;
}

void PredictionsWriter::Impl::write_offsets(Column& column, std::span<const std::int64_t> lengths) {
  // The offset 0 is in the file already, so each length adds the end of its row. A sum beyond the
  // number of elements is refused before it can overflow.
  std::vector<std::int64_t> ends;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > column.values.shape[0] - column.next_offset) {
      throw Error(ErrorKind::internal,
                  format("column '{}' of {} elements gets a row of {} from {} on",
                         column.values.name, column.values.shape[0], length, column.next_offset));
    }
    column.next_offset += length;
    ends.push_back(column.next_offset);
  }
  write(*column.offsets, std::ssize(ends), std::as_bytes(std::span(ends)));
}

std::vector<const Dataset*> PredictionsWriter::Impl::datasets() const {
  std::vector<const Dataset*> all;
  for (const Column& column : columns) {
    all.push_back(&column.values);
    if (column.offsets) all.push_back(&*column.offsets);
  }
  return all;
}

void PredictionsWriter::Impl::require_complete() const {
  for (const Dataset* dataset : datasets()) {
    if (dataset->is_complete()) continue;
    throw Error(ErrorKind::internal, format("column '{}' has {} rows, expected {}", dataset->name,
                                            dataset->next_row, dataset->shape[0]));
  }
  for (const Column& column : columns) {
    if (!column.ragged || column.next_offset == column.values.shape[0]) continue;
    throw Error(ErrorKind::internal,
                format("the rows of column '{}' have {} elements together, expected {}",
                       column.values.name, column.next_offset, column.values.shape[0]));
  }
}

PredictionsWriter::PredictionsWriter(const std::filesystem::path& path,
                                     std::vector<ColumnSpec> columns, std::int64_t num_rows,
                                     const std::vector<std::int64_t>& num_elements)
    : impl_(std::make_unique<Impl>(path)) {
  impl_->file.set_attribute("/", kFileMark, kFileVersion);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::int64_t elements = columns[c].ragged ? num_elements.at(c) : 0;
    Column& column = impl_->columns.emplace_back(make_column(columns[c], num_rows, elements));
    impl_->create(column.values);
    if (!column.offsets) continue;
    impl_->create(*column.offsets);
    // Row 0 begins at 0; append_lengths() adds where each row ends.
    constexpr std::int64_t kFirstOffset = 0;
    impl_->write(*column.offsets, 1, std::as_bytes(std::span(&kFirstOffset, 1)));
  }
}

PredictionsWriter::PredictionsWriter(PredictionsWriter&&) noexcept = default;
PredictionsWriter::~PredictionsWriter() = default;

void PredictionsWriter::append(std::int64_t column, std::int64_t num_rows,
                               std::span<const std::byte> rows) {
  impl_->write(impl_->column(column, false).values, num_rows, rows);
}

void PredictionsWriter::append_lengths(std::int64_t column, std::int64_t num_rows,
                                       std::span<const std::byte> lengths) {
  Column& target = impl_->column(column, true);
  if (num_rows < 0 || std::ssize(lengths) != num_rows * kOffsetBytes) {
    throw Error(ErrorKind::internal, format("column '{}' gets {} lengths in {} bytes",
                                            target.values.name, num_rows, lengths.size()));
  }
  // The bytes may come from another rank and need not be aligned, so they are copied.
  std::vector<std::int64_t> some;
  for (std::int64_t done = 0; done < num_rows; done += std::ssize(some)) {
    some.resize(to_size(std::min(kRowsAtOnce, num_rows - done)));
    const auto bytes = std::as_writable_bytes(std::span(some));
    std::ranges::copy(lengths.subspan(to_size(done * kOffsetBytes), bytes.size()), bytes.begin());
    impl_->write_offsets(target, some);
  }
}

void PredictionsWriter::append_elements(std::int64_t column, std::int64_t num_elements,
                                        std::span<const std::byte> elements) {
  impl_->write(impl_->column(column, true).values, num_elements, elements);
}

std::string PredictionsWriter::digest() const {
  impl_->require_complete();
  // The order of names, not that of the columns, makes the digest one that others can compute from
  // the file (docs/formats.md, The digest).
  std::map<std::string_view, const Dataset*> by_name;
  for (const Dataset* dataset : impl_->datasets()) by_name.emplace(dataset->name, dataset);
  digest::Sha256 all;
  for (const auto& [dataset_name, dataset] : by_name) {
    all.update(format("{}\n{}\n{}\n{}\n", dataset_name, name(dataset->dtype),
                      to_string(dataset->shape), dataset->hash.hex()));
  }
  return all.hex();
}

std::filesystem::path PredictionsWriter::finish(
    const std::map<std::string, std::string>& attributes) {
  impl_->require_complete();
  for (const auto& [key, value] : attributes) impl_->file.set_attribute("/", key, value);
  impl_->file.close();
  {
    const hdf5::Reader reader(impl_->temporary, ErrorKind::output, kWhat);
    for (const Dataset* dataset : impl_->datasets()) verify(reader, *dataset);
  }
  sync_file(impl_->temporary);
  // From here on the file stays when the writer is destroyed: the caller renames it with the rest
  // of the result.
  impl_->finished = true;
  return impl_->temporary;
}

}  // namespace tally::predictions
