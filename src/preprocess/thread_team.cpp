#include "thread_team.hpp"

#include <latch>

#include <boost/asio/post.hpp>

#include <tally/base/checked_cast.hpp>

namespace tally::preprocess {

ThreadTeam::ThreadTeam(int threads) : size_(threads), others_(to_size(threads - 1)) {}

void ThreadTeam::run(std::int64_t parts, const std::function<void(std::int64_t)>& work) {
  if (size_ == 1) {
    for (std::int64_t part = 0; part < parts; ++part) work(part);
    return;
  }
  std::latch ended(parts - 1);
  for (std::int64_t part = 1; part < parts; ++part) {
    boost::asio::post(others_, [&, part] {
      work(part);
      ended.count_down();
    });
  }
  work(0);
  ended.wait();
}

}  // namespace tally::preprocess
