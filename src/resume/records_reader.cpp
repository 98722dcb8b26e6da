// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/resume/progress_files.hpp>

#include "part_files.hpp"
#include "record_frames.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;
using predictions::ColumnSpec;
using predictions::RecordBatch;

[[noreturn]] void fail_changed(const fs::path& path) {
  throw Error(ErrorKind::output,
              format("progress file '{}' was changed after its records were checked",
                     printable(path.string())),
              "See that no other run uses the folder, then run again.");
}

// Reads what is behind a frame's header from begin to end. No amount is read, and no memory taken,
// beyond what the frame has left.
class FrameBytes {
 public:
  FrameBytes(const fs::path& path, int descriptor, const Frame& frame)
      : path_(path), descriptor_(descriptor), frame_(frame), left_(frame.bytes) {}

  RecordBatch read_rows(const std::vector<ColumnSpec>& columns);
  void require_end() const {
    if (left_ != 0 || crc_ != frame_.crc) fail_changed(path_);
  }

 private:
  template <class Item>
  std::vector<Item> read(std::int64_t count, std::int64_t width = sizeof(Item));
  // Their sum, which is such that these elements of `width` bytes can be there.
  std::int64_t checked_sum(const std::vector<std::int64_t>& lengths, std::int64_t width) const;

  const fs::path& path_;
  int descriptor_;
  const Frame& frame_;
  std::int64_t left_;
  std::uint32_t crc_ = 0;
};

template <class Item>
std::vector<Item> FrameBytes::read(std::int64_t count, std::int64_t width) {
  if (width > 0 && count > left_ / width) fail_changed(path_);
  std::vector<Item> items(to_size(count * width) / sizeof(Item));
  const auto bytes = std::as_writable_bytes(std::span(items));
  const std::int64_t offset = frame_.offset + frame_.bytes - left_;
  if (!read_at(descriptor_, offset, bytes).empty()) fail_changed(path_);
  crc_ = digest::crc32(crc_, bytes);
  left_ -= std::ssize(bytes);
  return items;
}

std::int64_t FrameBytes::checked_sum(const std::vector<std::int64_t>& lengths,
                                     std::int64_t width) const {
  std::int64_t room = width > 0 ? left_ / width : std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > room) fail_changed(path_);
    room -= length;
    sum += length;
  }
  return sum;
}

RecordBatch FrameBytes::read_rows(const std::vector<ColumnSpec>& columns) {
  RecordBatch rows;
  if (columns.empty()) return rows;
  rows.num_rows = frame_.samples.count;
  for (const auto& column : columns) {
    auto& lengths = rows.lengths.emplace_back();
    std::int64_t num_items = rows.num_rows;
    if (column.ragged) {
      lengths = read<std::int64_t>(num_items);
      num_items = checked_sum(lengths, column.row_bytes());
    }
    rows.columns.push_back(read<std::byte>(num_items, column.row_bytes()));
  }
  return rows;
}

template <class Item>
void keep(std::vector<Item>& items, std::int64_t first, std::int64_t count) {
  items.erase(items.begin() + first + count, items.end());
  items.erase(items.begin(), items.begin() + first);
}

// Cuts off the rows outside [first, first + count).
void keep_rows(RecordBatch& rows, const std::vector<ColumnSpec>& columns, std::int64_t first,
               std::int64_t count) {
  if (columns.empty() || count == rows.num_rows) return;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::int64_t first_item = first;
    std::int64_t num_items = count;
    if (columns[c].ragged) {
      auto& lengths = rows.lengths[c];
      const auto begin = lengths.begin();
      first_item = std::accumulate(begin, begin + first, std::int64_t{0});
      num_items = std::accumulate(begin + first, begin + first + count, std::int64_t{0});
      keep(lengths, first, count);
    }
    const std::int64_t width = columns[c].row_bytes();
    keep(rows.columns[c], first_item * width, num_items * width);
  }
  rows.num_rows = count;
}

}  // namespace

struct RecordsReader::Impl {
  void open(const Progress& progress);
  const Frame& frame_of(std::int64_t sample) const;
  void read_frame(const Frame& frame, plan::SampleRange samples, const Sink& sink) const;

  fs::path path;
  RecordColumns columns;
  UniqueDescriptor file;
  std::vector<Frame> frames;  // by their first samples
};

void RecordsReader::Impl::open(const Progress& progress) {
  auto opened = open_regular_file(path, ErrorKind::output, "progress file");
  auto found = read_frame_headers(opened.descriptor.get(), progress.records_bytes);
  if (!found) fail_changed(path);
  frames = std::move(*found);
  std::ranges::sort(frames, {}, [](const Frame& frame) { return frame.samples.first; });
  file = std::move(opened.descriptor);
}

const Frame& RecordsReader::Impl::frame_of(std::int64_t sample) const {
  const auto first = [](const Frame& frame) { return frame.samples.first; };
  const auto behind = std::ranges::upper_bound(frames, sample, {}, first);
  if (behind == frames.begin() || std::prev(behind)->samples.end() <= sample) {
    throw Error(ErrorKind::output,
                format("progress file '{}' lacks the records of sample {}",
                       printable(path.string()), sample),
                "Start anew with --overwrite in the place of --resume.");
  }
  return *std::prev(behind);
}

void RecordsReader::Impl::read_frame(const Frame& frame, plan::SampleRange samples,
                                     const Sink& sink) const {
  FrameBytes bytes(path, file.get(), frame);
  RecordBatch log = bytes.read_rows(columns.log);
  RecordBatch retained = bytes.read_rows(columns.retained);
  bytes.require_end();
  const std::int64_t first = samples.first - frame.samples.first;
  keep_rows(log, columns.log, first, samples.count);
  keep_rows(retained, columns.retained, first, samples.count);
  sink(log, retained);
}

RecordsReader::RecordsReader(const fs::path& folder, const Progress& progress,
                             RecordColumns columns)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = folder / records_name(progress.part);
  impl_->columns = std::move(columns);
  if (progress.records_bytes > 0) impl_->open(progress);
}

RecordsReader::~RecordsReader() = default;
RecordsReader::RecordsReader(RecordsReader&&) noexcept = default;
RecordsReader& RecordsReader::operator=(RecordsReader&&) noexcept = default;

void RecordsReader::read(plan::SampleRange samples, const Sink& sink) const {
  if (impl_->columns.log.empty() && impl_->columns.retained.empty()) return;
  while (samples.count > 0) {
    const Frame& frame = impl_->frame_of(samples.first);
    const std::int64_t count = std::min(samples.count, frame.samples.end() - samples.first);
    impl_->read_frame(frame, {samples.first, count}, sink);
    samples = {samples.first + count, samples.count - count};
  }
}

}  // namespace tally::resume
