// SPDX-License-Identifier: Apache-2.0
// Threads that share the work on one batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace tally {

// The calling thread and others, which sleep between two calls of run().
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();

  int size() const { return size_; }
  // Calls work(0) … work(parts - 1), each once, on any of the threads, and returns when all have
  // returned. At most size() parts; `work` must not throw. One call at a time.
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& work);

 private:
  struct Others;

  int size_;
  std::unique_ptr<Others> others_;  // none for a team of one
};

}  // namespace tally
