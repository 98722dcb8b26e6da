// SPDX-License-Identifier: Apache-2.0
#include <tally/base/thread_team.hpp>

#include <latch>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <tally/base/checked_cast.hpp>

namespace tally {

struct ThreadTeam::Others {
  explicit Others(int count) : threads(to_size(count)) {}
  boost::asio::thread_pool threads;
};

ThreadTeam::ThreadTeam(int threads) : size_(threads) {
  if (threads > 1) others_ = std::make_unique<Others>(threads - 1);
}

ThreadTeam::~ThreadTeam() = default;

void ThreadTeam::run(std::int64_t parts, const std::function<void(std::int64_t)>& work) {
  // The tasks below refer to this frame: run() returns only when all of them have ended. The
  // calling thread takes a part itself, so that a team of one needs no pool.
  std::latch ended(parts - 1);
  for (std::int64_t part = 1; part < parts; ++part) {
    boost::asio::post(others_->threads, [&, part] {
      work(part);
      ended.count_down();
    });
  }
  work(0);
  ended.wait();
}

}  // namespace tally
