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

void Accesses::touch(const void* address, std::size_t size, Access access, const Place& place) {
  auto* const allocation = memory_.find(address, size);
  if (allocation == nullptr || allocation->kind != Kind::device) {
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
    if (cell.write.block != place.block) cell.write = {};
    if (cell.read.block != place.block) cell.read = {};
    touch(cell, access, place);
  }
}

void Accesses::touch(Cell& cell, Access access, const Place& place) {
  check(cell.write, access, place);
  if (access == Access::read) return stamp_read(cell.read, place);
  check(cell.read, access, place);
  cell.write = {static_cast<std::uint32_t>(operations_.size()), place.block, place.thread,
                place.epoch, access == Access::atomic};
}

void Accesses::check(const Stamp& earlier, Access access, const Place& place) {
  if (earlier.operation == 0 || earlier.operation == ordered_) return;
  if (earlier.operation != operations_.size()) {
    const auto& other = operations_[earlier.operation - 1];
    if (!is_ordered(other.stream, other.number, operations_.back())) collision(earlier);
    ordered_ = earlier.operation;
    return;
  }
  if (earlier.is_atomic && access == Access::atomic) return;
  const bool same_block = earlier.block == place.block && !earlier.by_many_blocks;
  const bool same_thread = same_block && earlier.thread == place.thread && !earlier.by_many_threads;
  if (same_thread || (same_block && earlier.epoch < place.epoch)) return;
  collision(earlier);
}

void Accesses::collision(const Stamp& earlier) const {
  const auto& now = operations_.back();
  if (earlier.operation == operations_.size()) {
    misuse("two threads of " + words(now) + " touch the same byte, and nothing puts them in order");
  }
  misuse(words(operations_[earlier.operation - 1]) + " and " + words(now) +
         " touch the same byte, and no event puts them in order");
}

void Accesses::stamp_read(Stamp& read, const Place& place) const {
  const auto operation = static_cast<std::uint32_t>(operations_.size());
  Stamp made{operation, place.block, place.thread, place.epoch};
  if (read.operation == operation) {
    made.by_many_blocks = read.by_many_blocks || read.block != place.block;
    made.by_many_threads = made.by_many_blocks || read.thread != place.thread ||
                           (read.by_many_threads && read.epoch == place.epoch);
  }
  read = made;
}

}  // namespace simulated_gpu
