// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/prediction_log.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "spillable_column.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kLengthBytes = sizeof(std::int64_t);

void require(bool holds, std::string_view problem) {
  if (!holds) throw Error(ErrorKind::internal, format("prediction log: {}", problem));
}

// Holds the items of a batch that go to one spillable column.
struct Part {
  std::int64_t num_items = 0;
  std::span<const std::byte> bytes;
};

// The memory is shared out before the first row: each ragged column has one share for its elements,
// all columns of fixed rows have one together, in which each has room for as many rows as the
// others. The lengths of ragged rows count as such a column.
struct Shares {
  Shares(const std::vector<ColumnSpec>& specs, std::int64_t memory_bytes) {
    std::int64_t num_ragged = 0;
    std::int64_t fixed_bytes = 0;  // of one row
    for (const auto& spec : specs) {
      num_ragged += spec.ragged ? 1 : 0;
      fixed_bytes += spec.ragged ? kLengthBytes : spec.row_bytes();
    }
    ragged_bytes = memory_bytes / (num_ragged + 1);
    fixed_rows = ragged_bytes / std::max<std::int64_t>(1, fixed_bytes);
  }
  std::int64_t ragged_bytes = 0;
  std::int64_t fixed_rows = 0;
};

}  // namespace

struct PredictionLog::Impl {
  // `values` holds the rows of a column or the elements of a ragged one, whose rows have their
  // lengths beside them.
  struct Column {
    SpillableColumn values;
    std::optional<SpillableColumn> lengths;
  };

  std::vector<ColumnSpec> specs;
  std::filesystem::path spill_folder;
  std::vector<Column> columns;
  std::int64_t num_rows = 0;
  std::optional<SpillFile> file;

  const Column& column(std::int64_t index, bool ragged) const;
  void read(const SpillableColumn& track, std::int64_t first, std::int64_t count,
            std::span<std::byte> out) const;

  Part checked_values(const RecordBatch& records, std::size_t c) const;
  // Calls `visit` with each track and its part of the batch.
  template <class Visit>
  void for_each_part(const RecordBatch& records, const Visit& visit);
};

const PredictionLog::Impl::Column& PredictionLog::Impl::column(std::int64_t index,
                                                               bool ragged) const {
  require(index >= 0 && index < std::ssize(columns), "there is no such column");
  // The two forms of a column are read by different functions; the wrong one is a defect of the
  // caller.
  const auto c = to_size(index);
  require(specs[c].ragged == ragged,
          format("column '{}' is {}ragged", specs[c].name, ragged ? "not " : ""));
  return columns[c];
}

void PredictionLog::Impl::read(const SpillableColumn& track, std::int64_t first, std::int64_t count,
                               std::span<std::byte> out) const {
  require(first >= 0 && count >= 0 && first <= track.num_items() - count, "there are no such rows");
  require(std::ssize(out) == count * track.item_bytes(), "the buffer does not fit the rows");
  track.read(file ? &*file : nullptr, first, count, out);
}

Part PredictionLog::Impl::checked_values(const RecordBatch& records, std::size_t c) const {
  // Everything is checked before anything is stored: append() calls this for all columns before it
  // changes the first.
  const std::span<const std::byte> bytes = records.columns[c];
  std::int64_t num_items = records.num_rows;
  if (specs[c].ragged) {
    require(c < records.lengths.size() && std::ssize(records.lengths[c]) == records.num_rows,
            format("ragged column '{}' lacks the lengths of its rows", specs[c].name));
    const auto& lengths = records.lengths[c];
    require(std::ranges::none_of(lengths, [](std::int64_t length) { return length < 0; }),
            format("ragged column '{}' has a row of negative length", specs[c].name));
    num_items = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }
  require(std::ssize(bytes) == num_items * columns[c].values.item_bytes(),
          format("column '{}' has {} bytes for {} {}", specs[c].name, bytes.size(), num_items,
                 specs[c].ragged ? "elements" : "rows"));
  return {num_items, bytes};
}

template <class Visit>
void PredictionLog::Impl::for_each_part(const RecordBatch& records, const Visit& visit) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    visit(columns[c].values, checked_values(records, c));
    if (columns[c].lengths) {
      visit(*columns[c].lengths,
            Part{records.num_rows, std::as_bytes(std::span(records.lengths[c]))});
    }
  }
}

PredictionLog::PredictionLog(std::vector<ColumnSpec> columns, std::filesystem::path spill_folder,
                             std::int64_t memory_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->spill_folder = std::move(spill_folder);
  const Shares shares(columns, memory_bytes);
  for (const auto& spec : columns) {
    const std::int64_t width = spec.row_bytes();
    if (spec.ragged) {
      impl_->columns.push_back({SpillableColumn(width, shares.ragged_bytes),
                                SpillableColumn(kLengthBytes, shares.fixed_rows * kLengthBytes)});
    } else {
      impl_->columns.push_back({SpillableColumn(width, shares.fixed_rows * width), std::nullopt});
    }
  }
  impl_->specs = std::move(columns);
}

PredictionLog::PredictionLog(PredictionLog&&) noexcept = default;
PredictionLog& PredictionLog::operator=(PredictionLog&&) noexcept = default;
PredictionLog::~PredictionLog() = default;

const std::vector<ColumnSpec>& PredictionLog::columns() const { return impl_->specs; }
std::int64_t PredictionLog::num_rows() const { return impl_->num_rows; }
std::int64_t PredictionLog::num_elements(std::int64_t column) const {
  return impl_->column(column, true).values.num_items();
}
std::int64_t PredictionLog::spilled_bytes() const {
  return impl_->file ? impl_->file->num_bytes() : 0;
}

void PredictionLog::append(const RecordBatch& records) {
  Impl& impl = *impl_;
  require(records.columns.size() == impl.specs.size(), "a batch has another number of columns");
  // The columns are visited twice: first the batch is checked and room is asked for, then it is
  // stored. All columns spill together, when the first of them is full.
  bool room = true;       // beside what is held
  bool ever_room = true;  // when nothing is held
  impl.for_each_part(records, [&](const SpillableColumn& track, const Part& part) {
    room = room && track.has_room(std::ssize(part.bytes));
    ever_room = ever_room && track.ever_has_room(std::ssize(part.bytes));
  });
  // Most runs fit into memory and never create the file.
  if (!room && !impl.file) impl.file.emplace(impl.spill_folder);
  impl.for_each_part(records, [&](SpillableColumn& track, const Part& part) {
    // What is held goes to the file first, so that items stay in the order of the samples. A batch
    // larger than the memory follows it there at once.
    if (!room) track.spill_held(*impl.file);
    if (ever_room) {
      track.hold(part.num_items, part.bytes);
    } else {
      track.spill(*impl.file, part.num_items, part.bytes);
    }
  });
  impl.num_rows += records.num_rows;
}

void PredictionLog::read(std::int64_t column, std::int64_t first, std::int64_t count,
                         std::span<std::byte> out) const {
  impl_->read(impl_->column(column, false).values, first, count, out);
}

void PredictionLog::read_lengths(std::int64_t column, std::int64_t first, std::int64_t count,
                                 std::span<std::byte> out) const {
  impl_->read(*impl_->column(column, true).lengths, first, count, out);
}

void PredictionLog::read_elements(std::int64_t column, std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const {
  impl_->read(impl_->column(column, true).values, first, count, out);
}

}  // namespace tally::predictions
