#include "spillable_column.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>

namespace tally::predictions {

SpillableColumn::SpillableColumn(std::int64_t item_bytes, std::int64_t memory_bytes)
    : item_bytes_(item_bytes), memory_bytes_(memory_bytes) {}

bool SpillableColumn::has_room(std::int64_t num_bytes) const {
  return std::ssize(held_) + num_bytes <= memory_bytes_;
}

bool SpillableColumn::ever_has_room(std::int64_t num_bytes) const {
  return num_bytes <= memory_bytes_;
}

void SpillableColumn::hold(std::int64_t num_items, std::span<const std::byte> items) {
  // All at once: the system gives pages as they are written to, and tracks that grow by turns leave
  // holes behind that nobody fits into.
  if (!items.empty()) held_.reserve(to_size(memory_bytes_));
  held_.insert(held_.end(), items.begin(), items.end());
  num_held_ += num_items;
}

void SpillableColumn::spill_held(SpillFile& file) {
  if (num_held_ == 0) return;
  const std::int64_t num_items = num_held_;
  num_held_ = 0;
  spill(file, num_items, held_);
  held_.clear();  // keeps its capacity
}

void SpillableColumn::spill(SpillFile& file, std::int64_t num_items,
                            std::span<const std::byte> items) {
  if (num_items == 0) return;
  runs_.push_back({num_spilled_, num_items, file.num_bytes()});
  file.append(items);
  num_spilled_ += num_items;
}

void SpillableColumn::read(const SpillFile* file, std::int64_t first, std::int64_t count,
                           std::span<std::byte> out) const {
  const std::int64_t end = first + count;
  // The run that holds item `first`, or the end.
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
