// SPDX-License-Identifier: Apache-2.0
#include "spillable_column.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>

namespace tally::predictions {
namespace {

// All failures of the spill file have one remedy: another folder.
[[noreturn]] void fail(const std::filesystem::path& folder, std::string_view what,
                       std::string_view call, std::string_view reason) {
  throw Error(ErrorKind::output,
              format("predictions that do not fit into memory cannot be {} folder '{}' ({}: {})",
                     what, folder.string(), call, reason),
              "Choose a folder on a local disk with free space by --spill-dir.");
}

}  // namespace

SpillFile::SpillFile(std::filesystem::path folder)
    : folder_(std::move(folder)), descriptor_(open_scratch(folder_)) {
  if (!descriptor_) fail(folder_, "kept in", "open", errno_text(errno));
}

void SpillFile::append(std::span<const std::byte> bytes) {
  const std::string problem = write_at(descriptor_.get(), num_bytes_, bytes);
  if (!problem.empty()) fail(folder_, "kept in", "write", problem);
  num_bytes_ += std::ssize(bytes);
}

void SpillFile::read(std::int64_t offset, std::span<std::byte> out) const {
  const std::string problem = read_at(descriptor_.get(), offset, out);
  if (!problem.empty()) fail(folder_, "read back from", "read", problem);
}

SpillableColumn::SpillableColumn(std::int64_t item_bytes, std::int64_t memory_bytes)
    : item_bytes_(item_bytes), memory_bytes_(memory_bytes) {}

bool SpillableColumn::has_room(std::int64_t num_bytes) const {
  return std::ssize(held_) + num_bytes <= memory_bytes_;
}

bool SpillableColumn::ever_has_room(std::int64_t num_bytes) const {
  return num_bytes <= memory_bytes_;
}

void SpillableColumn::hold(std::int64_t num_items, std::span<const std::byte> items) {
  // The memory is reserved all at once: the system gives pages only as they are written to, whereas
  // columns that grow in turns leave holes behind that none of them fits into.
  if (!items.empty()) held_.reserve(to_size(memory_bytes_));
  held_.insert(held_.end(), items.begin(), items.end());
  num_held_ += num_items;
}

void SpillableColumn::spill_held(SpillFile& file) {
  if (num_held_ == 0) return;
  // num_held_ is 0 before spill(), which counts the items as spilled: they must not count twice.
  const std::int64_t num_items = num_held_;
  num_held_ = 0;
  spill(file, num_items, held_);
  held_.clear();  // keeps its capacity
}

void SpillableColumn::spill(SpillFile& file, std::int64_t num_items,
                            std::span<const std::byte> items) {
  if (num_items == 0) return;
  // The file holds items of several columns by turns, so each run remembers where it begins.
  runs_.push_back({num_spilled_, num_items, file.num_bytes()});
  file.append(items);
  num_spilled_ += num_items;
}

void SpillableColumn::read(const SpillFile* file, std::int64_t first, std::int64_t count,
                           std::span<std::byte> out) const {
  const std::int64_t end = first + count;
  // `run` is the run that holds item `first`, or the end where that is in memory.
  auto run =
      std::upper_bound(runs_.begin(), runs_.end(), first,
                       [](std::int64_t item, const Run& r) { return item < r.first + r.count; });
  for (; run != runs_.end() && first < end; ++run) {
    const std::int64_t items = std::min(end, run->first + run->count) - first;
    const auto part = out.first(to_size(items * item_bytes_));
    file->read(run->file_offset + (first - run->first) * item_bytes_, part);
    out = out.subspan(part.size());
    first += items;
  }
  if (!out.empty()) {
    std::copy_n(held_.begin() + (first - num_spilled_) * item_bytes_, out.size(), out.begin());
  }
}

}  // namespace tally::predictions
