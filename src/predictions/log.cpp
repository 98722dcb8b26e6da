#include <tally/predictions/log.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "spill_file.hpp"

namespace tally::predictions {
namespace {

using Columns = std::vector<std::vector<std::byte>>;

// Rows that were written together: for each column one run of bytes, column after column.
struct Segment {
  std::int64_t first_row = 0;
  std::int64_t num_rows = 0;
  std::int64_t file_offset = 0;
};

void require(bool holds, std::string_view problem) {
  if (!holds) throw Error(ErrorKind::internal, format("prediction log: {}", problem));
}

}  // namespace

struct PredictionLog::Body {
  std::vector<ColumnSpec> specs;
  std::filesystem::path spill_folder;
  std::int64_t memory_bytes = 0;
  std::vector<std::int64_t> row_bytes;       // per column
  std::vector<std::int64_t> column_offsets;  // of a column's byte 0 in one row of all columns
  std::int64_t all_row_bytes = 0;

  std::optional<SpillFile> file;
  std::vector<Segment> segments;  // consecutive rows from row 0 on
  std::int64_t spilled_rows = 0;
  std::int64_t held_rows = 0;
  Columns held;  // rows [spilled_rows, spilled_rows + held_rows)

  void spill(const Columns& columns, std::int64_t num_rows);
  void spill_held();
  void hold(const RecordBatch& records);
  void read_segment(const Segment& segment, std::size_t column, std::int64_t first,
                    std::span<std::byte> out) const;
};

void PredictionLog::Body::spill(const Columns& columns, std::int64_t num_rows) {
  if (!file) file.emplace(spill_folder);
  const Segment segment{spilled_rows, num_rows, file->num_bytes()};
  for (const auto& bytes : columns) file->append(bytes);
  segments.push_back(segment);
  spilled_rows += num_rows;
}

void PredictionLog::Body::spill_held() {
  if (held_rows == 0) return;
  spill(held, held_rows);
  for (auto& bytes : held) bytes.clear();  // keeps its capacity
  held_rows = 0;
}

void PredictionLog::Body::hold(const RecordBatch& records) {
  const std::int64_t most_rows = memory_bytes / std::max<std::int64_t>(1, all_row_bytes);
  for (std::size_t c = 0; c < held.size(); ++c) {
    // All at once: the system gives pages as they are written to, and columns that grow by turns
    // leave holes behind that nobody fits into.
    held[c].reserve(to_size(most_rows * row_bytes[c]));
    held[c].insert(held[c].end(), records.columns[c].begin(), records.columns[c].end());
  }
  held_rows += records.num_rows;
}

void PredictionLog::Body::read_segment(const Segment& segment, std::size_t column,
                                       std::int64_t first, std::span<std::byte> out) const {
  const std::int64_t column_start = segment.file_offset + segment.num_rows * column_offsets[column];
  file->read(column_start + (first - segment.first_row) * row_bytes[column], out);
}

PredictionLog::PredictionLog(std::vector<ColumnSpec> columns, std::filesystem::path spill_folder,
                             std::int64_t memory_bytes)
    : body_(std::make_unique<Body>()) {
  body_->spill_folder = std::move(spill_folder);
  body_->memory_bytes = memory_bytes;
  for (const auto& spec : columns) {
    body_->column_offsets.push_back(body_->all_row_bytes);
    body_->row_bytes.push_back(spec.row_bytes());
    body_->all_row_bytes += spec.row_bytes();
  }
  body_->held.resize(columns.size());
  body_->specs = std::move(columns);
}

PredictionLog::PredictionLog(PredictionLog&&) noexcept = default;
PredictionLog::~PredictionLog() = default;

const std::vector<ColumnSpec>& PredictionLog::columns() const { return body_->specs; }
std::int64_t PredictionLog::num_rows() const { return body_->spilled_rows + body_->held_rows; }
std::int64_t PredictionLog::spilled_bytes() const {
  return body_->file ? body_->file->num_bytes() : 0;
}

void PredictionLog::append(const RecordBatch& records) {
  Body& body = *body_;
  require(records.columns.size() == body.specs.size(), "a batch has another number of columns");
  for (std::size_t c = 0; c < body.specs.size(); ++c) {
    require(std::ssize(records.columns[c]) == records.num_rows * body.row_bytes[c],
            format("column '{}' has {} bytes for {} rows", body.specs[c].name,
                   records.columns[c].size(), records.num_rows));
  }
  if (records.num_rows == 0) return;
  const std::int64_t batch_bytes = records.num_rows * body.all_row_bytes;
  const std::int64_t held_bytes = body.held_rows * body.all_row_bytes;
  if (held_bytes + batch_bytes > body.memory_bytes) body.spill_held();
  if (batch_bytes > body.memory_bytes) {
    body.spill(records.columns, records.num_rows);
  } else {
    body.hold(records);
  }
}

void PredictionLog::read(std::int64_t column, std::int64_t first, std::int64_t count,
                         std::span<std::byte> out) const {
  const Body& body = *body_;
  require(column >= 0 && column < std::ssize(body.specs), "there is no such column");
  require(first >= 0 && count >= 0 && first <= num_rows() - count, "there are no such rows");
  const auto c = to_size(column);
  const std::int64_t width = body.row_bytes[c];
  require(std::ssize(out) == count * width, "the buffer does not fit the rows");

  const std::int64_t end = first + count;
  // The segment that holds row `first`, or the end.
  auto segment = std::upper_bound(
      body.segments.begin(), body.segments.end(), first,
      [](std::int64_t row, const Segment& s) { return row < s.first_row + s.num_rows; });
  for (; segment != body.segments.end() && first < end; ++segment) {
    const std::int64_t rows = std::min(end, segment->first_row + segment->num_rows) - first;
    body.read_segment(*segment, c, first, out.first(to_size(rows * width)));
    out = out.subspan(to_size(rows * width));
    first += rows;
  }
  if (!out.empty()) {
    std::copy_n(body.held[c].begin() + (first - body.spilled_rows) * width, out.size(),
                out.begin());
  }
}

}  // namespace tally::predictions
