// Threads that share the work on one batch.
#pragma once

#include <cstdint>
#include <functional>

#include <boost/asio/thread_pool.hpp>

namespace tally::preprocess {

// The calling thread and others, which sleep between two calls of run().
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);

  int size() const { return size_; }
  // Calls work(0) … work(parts - 1), each once, on any of the threads, and returns when all have
  // returned. `work` must not throw. One call at a time.
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& work);

 private:
  int size_;
  boost::asio::thread_pool others_;
};

}  // namespace tally::preprocess
