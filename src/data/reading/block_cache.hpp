// SPDX-License-Identifier: Apache-2.0
// Blocks of bytes that several threads need, each made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>

namespace tally::data {

class BlockCache {
 public:
  using Block = std::shared_ptr<const std::byte[]>;
  using Make = std::function<Block()>;

  // How many blocks are kept, the last used ones; 1 until it is called. Before any other thread
  // comes.
  void set_capacity(std::size_t most) { most_ = most; }

  // Block `number`: the kept one, or what `make` makes. Who comes while another thread makes it
  // calls `meanwhile`, then waits. What `make` throws reaches all who wait; then nothing is kept.
  Block get(std::int64_t number, const Make& make, const std::function<void()>& meanwhile = {});
  // Keeps none of those that are made; who uses one goes on with it.
  void clear();
  // Makes it for later unless it is there or being made; a failure is left to who needs it.
  void prepare(std::int64_t number, const Make& make);

 private:
  struct Entry {
    std::int64_t number;
    std::shared_future<Block> block;
  };
  using Promise = std::shared_ptr<std::promise<Block>>;

  std::shared_future<Block> find_or_begin(std::int64_t number, Promise& promise);
  void fulfil(std::int64_t number, std::promise<Block>& promise, const Make& make);

  std::mutex mutex_;          // of the entries
  std::list<Entry> entries_;  // the last used one first
  std::size_t most_ = 1;
};

}  // namespace tally::data
