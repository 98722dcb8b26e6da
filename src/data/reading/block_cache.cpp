// SPDX-License-Identifier: Apache-2.0
#include "reading/block_cache.hpp"

#include <algorithm>
#include <chrono>

namespace tally::data {

// Sets `promise` where the block is not there and the caller has to make it.
std::shared_future<BlockCache::Block> BlockCache::find_or_begin(std::int64_t number,
                                                                Promise& promise) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, number, &Entry::number);
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->block;
  }
  promise = std::make_shared<std::promise<Block>>();
  entries_.push_front({number, promise->get_future().share()});
  // A block that is dropped while it is used or made stays alive by the futures of those who need
  // it.
  while (entries_.size() > most_) entries_.pop_back();
  return entries_.front().block;
}

void BlockCache::fulfil(std::int64_t number, std::promise<Block>& promise, const Make& make) {
  // The lock is not held meanwhile: other threads find and make other blocks.
  try {
    promise.set_value(make());
  } catch (...) {
    // All who wait get the error; the entry goes, so that a later caller tries again.
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.number == number; });
  }
}

BlockCache::Block BlockCache::get(std::int64_t number, const Make& make,
                                  const std::function<void()>& meanwhile) {
  Promise promise;
  const auto block = find_or_begin(number, promise);
  if (promise) {
    fulfil(number, *promise, make);
  } else if (meanwhile && block.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    meanwhile();
  }
  return block.get();
}

void BlockCache::prepare(std::int64_t number, const Make& make) {
  Promise promise;
  find_or_begin(number, promise);
  if (promise) fulfil(number, *promise, make);
}

void BlockCache::clear() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.block.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
}

}  // namespace tally::data
