// SPDX-License-Identifier: Apache-2.0
#include "accesses.hpp"

#include "chance.hpp"

namespace simulated_gpu {
namespace {

std::string words(const Operation& operation) {
  return "'" + operation.name + "' (operation " + std::to_string(operation.number) + " of stream " +
         std::to_string(operation.stream) + ")";
}

}  // namespace

void Accesses::begin(const Operation& operation) {
  operations_.push_back(operation);
  ordered_ = 0;
  shared_.clear();
}

void Accesses::reset() {
  operations_.clear();
  shared_.clear();
}

void Accesses::touch(const void* address, std::size_t size, Access access, const Place& place,
                     Kind kind) {
  auto* const allocation = memory_.find(address, size);
  if (allocation == nullptr || allocation->kind != kind) {
    misuse(words(operations_.back()) + " touches memory that is not the GPU's");
  }
  const auto* byte = static_cast<const std::byte*>(address);
  const auto* const end = byte + size;
  while (byte != end) {
    auto& page = allocation->page(byte);
    const bool is_whole =
        byte + kPage <= end && static_cast<std::size_t>(byte - allocation->begin) % kPage == 0;
    if (is_whole && !page.each) {
      touch(page.whole, access, place);
      byte += kPage;
    } else {
      touch(allocation->cell(byte++), access, place);
    }
  }
}

void Accesses::touch_shared(const void* address, std::size_t size, Access access,
                            const Place& place) {
  const auto* const first = static_cast<const std::byte*>(address);
  for (const auto* byte = first; byte < first + size; ++byte) {
    auto& cell = shared_[byte];
    for (auto* const earlier : {&cell.write, &cell.atomic, &cell.read}) {
      if (earlier->block != place.block) *earlier = {};
    }
    touch(cell, access, place);
  }
}

void Accesses::touch(Cell& cell, Access access, const Place& place) {
  check(cell.write, place);
  if (access != Access::atomic) check(cell.atomic, place);
  if (access == Access::read) {
    if (cell.read.operation != operations_.size() && !is_over(cell.read)) {
      cell.read_elsewhere = cell.read;
    }
    return add(cell.read, place);
  }
  check(cell.read, place);
  check(cell.read_elsewhere, place);
  if (access == Access::atomic) return add(cell.atomic, place);
  cell.write = {};
  add(cell.write, place);
}

// Whether all of an earlier operation comes before the one that runs.
bool Accesses::is_over(const Touch& earlier) {
  if (earlier.operation == 0 || earlier.operation == ordered_) return true;
  const auto& other = operations_[earlier.operation - 1];
  if (!is_ordered(other.stream, other.number, operations_.back())) return false;
  ordered_ = earlier.operation;
  return true;
}

void Accesses::check(const Touch& earlier, const Place& place) {
  if (earlier.operation != operations_.size()) {
    if (!is_over(earlier)) collision(earlier);
    return;
  }
  const bool same_block = earlier.block == place.block && !earlier.by_many_blocks;
  const bool same_thread = same_block && earlier.thread == place.thread && !earlier.by_many_threads;
  if (!same_thread && (!same_block || earlier.epoch == place.epoch)) collision(earlier);
}

void Accesses::collision(const Touch& earlier) const {
  const auto& now = operations_.back();
  if (earlier.operation == operations_.size()) {
    misuse("two threads of " + words(now) + " touch the same byte, and nothing puts them in order");
  }
  misuse(words(operations_[earlier.operation - 1]) + " and " + words(now) +
         " touch the same byte, and no event puts them in order");
}

void Accesses::add(Touch& touch, const Place& place) const {
  const auto operation = static_cast<std::uint32_t>(operations_.size());
  Touch made;
  made.operation = operation;
  made.block = place.block & 0x3fffffffU;
  made.thread = place.thread;
  made.epoch = place.epoch;
  if (touch.operation == operation) {
    made.by_many_blocks = touch.by_many_blocks || touch.block != place.block;
    // What came before a barrier is in order with what comes after it.
    made.by_many_threads =
        touch.epoch == place.epoch && (touch.by_many_threads || touch.thread != place.thread);
  }
  touch = made;
}

}  // namespace simulated_gpu
