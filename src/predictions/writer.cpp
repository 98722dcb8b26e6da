#include <tally/predictions/writer.hpp>

#include <unistd.h>

#include <bit>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/digest/digest.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/writer.hpp>

#include "file_mark.hpp"

namespace tally::predictions {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian bytes");

constexpr char kWhat[] = "predictions file";

struct Column {
  ColumnSpec spec;
  Shape shape;                // [N, …]
  std::int64_t next_row = 0;  // rows written so far
  digest::Sha256 hash;        // of those rows
  std::string path() const { return "/" + spec.name; }
};

Column make_column(ColumnSpec spec, std::int64_t num_rows) {
  Shape shape{num_rows};
  shape.insert(shape.end(), spec.row_shape.begin(), spec.row_shape.end());
  return {.spec = std::move(spec), .shape = std::move(shape), .next_row = 0, .hash = {}};
}

void remove_quietly(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

// HDF5 leaves an empty file behind where it cannot write the first bytes.
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

// What the rename makes final must be a file that opens and has all columns.
void verify(const std::filesystem::path& file, const std::vector<Column>& columns) {
  const hdf5::Reader reader(file, ErrorKind::output, kWhat);
  for (const Column& column : columns) {
    const hdf5::Dataset dataset = reader.dataset(column.path());
    dataset.require_element(hdf5::element_of(column.spec.dtype));
    if (dataset.info().shape != column.shape) {
      throw Error(
          ErrorKind::output,
          format("{} '{}', {} has shape {} after writing, expected {}", kWhat, file.string(),
                 column.path(), to_string(dataset.info().shape), to_string(column.shape)),
          "Check the file system.");
    }
  }
}

}  // namespace

struct PredictionsWriter::Body {
  Body(std::filesystem::path final_path, std::int64_t rows)
      : path(std::move(final_path)),
        temporary(partial_path(path)),
        num_rows(rows),
        file(create_file(temporary)) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    if (!published) remove_quietly(temporary);
  }

  void require_complete() const;

  std::filesystem::path path;
  std::filesystem::path temporary;
  std::int64_t num_rows = 0;
  hdf5::Writer file;
  std::vector<Column> columns;
  bool published = false;
};

void PredictionsWriter::Body::require_complete() const {
  for (const Column& column : columns) {
    if (column.next_row != num_rows) {
      throw Error(ErrorKind::internal, format("column '{}' has {} rows, expected {}",
                                              column.spec.name, column.next_row, num_rows));
    }
  }
}

PredictionsWriter::PredictionsWriter(std::filesystem::path path, std::vector<ColumnSpec> columns,
                                     std::int64_t num_rows)
    : body_(std::make_unique<Body>(std::move(path), num_rows)) {
  body_->file.set_attribute("/", kFileMark, kFileVersion);
  for (auto& spec : columns) {
    body_->columns.push_back(make_column(std::move(spec), num_rows));
    const Column& column = body_->columns.back();
    body_->file.create_dataset(column.path(), column.spec.dtype, column.shape);
  }
}

PredictionsWriter::PredictionsWriter(PredictionsWriter&&) noexcept = default;
PredictionsWriter::~PredictionsWriter() = default;

void PredictionsWriter::append(std::int64_t column, std::int64_t num_rows,
                               std::span<const std::byte> rows) {
  Column& target = body_->columns.at(to_size(column));
  if (num_rows < 0 || num_rows > body_->num_rows - target.next_row ||
      std::ssize(rows) != num_rows * target.spec.row_bytes()) {
    throw Error(ErrorKind::internal,
                format("column '{}' of {} rows gets rows {} + {} in {} bytes", target.spec.name,
                       body_->num_rows, target.next_row, num_rows, rows.size()));
  }
  body_->file.write_rows(target.path(), target.next_row, num_rows, rows);
  target.hash.update(rows);
  target.next_row += num_rows;
}

std::string PredictionsWriter::digest() const {
  body_->require_complete();
  std::map<std::string_view, const Column*> by_name;
  for (const Column& column : body_->columns) by_name.emplace(column.spec.name, &column);
  digest::Sha256 all;
  for (const auto& [column_name, column] : by_name) {
    all.update(format("{}\n{}\n{}\n{}\n", column_name, name(column->spec.dtype),
                      to_string(column->shape), column->hash.hex()));
  }
  return all.hex();
}

void PredictionsWriter::publish(const std::map<std::string, std::string>& attributes) {
  body_->require_complete();
  for (const auto& [key, value] : attributes) body_->file.set_attribute("/", key, value);
  body_->file.close();
  verify(body_->temporary, body_->columns);
  publish_file(body_->temporary, body_->path);
  body_->published = true;
}

}  // namespace tally::predictions
