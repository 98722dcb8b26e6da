#include "phases.hpp"

#include <algorithm>
#include <span>

#include <tally/base/checked_cast.hpp>

namespace tally::app {

void Phases::done(std::string name) {
  steps_.emplace_back(std::move(name), watch_.elapsed_s());
  watch_ = Stopwatch();
}

void Phases::add(std::string name, double seconds) {
  steps_.emplace_back(std::move(name), seconds);
}

std::vector<double> gather_values(const comm::Communicator& comm,
                                  const std::vector<double>& values) {
  const std::vector<std::int64_t> one_row_each(to_size(comm.world_size()), 1);
  std::vector<double> all(comm.is_root() ? values.size() * to_size(comm.world_size()) : 0);
  comm.gather_rows(std::as_bytes(std::span(values)),
                   checked_cast<std::int64_t>(values.size() * sizeof(double)), one_row_each,
                   std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<report::PhaseTime> Phases::over_ranks(const comm::Communicator& comm) const {
  std::vector<double> mine;
  for (const auto& [name, seconds] : steps_) mine.push_back(seconds);
  const auto all = gather_values(comm, mine);
  if (!comm.is_root()) return {};
  std::vector<report::PhaseTime> phases;
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    report::PhaseTime time{steps_[step].first, mine[step], 0, mine[step]};
    for (std::size_t at = step; at < all.size(); at += steps_.size()) {
      time.min_s = std::min(time.min_s, all[at]);
      time.max_s = std::max(time.max_s, all[at]);
      time.mean_s += all[at] / comm.world_size();
    }
    phases.push_back(time);
  }
  return phases;
}

}  // namespace tally::app
