// SPDX-License-Identifier: Apache-2.0
#include <tally/watchdog/watchdog.hpp>

#include <thread>

#include <tally/base/blocked_signals.hpp>
#include <tally/base/thread_name.hpp>

#include "join_job.hpp"

namespace tally::watchdog {
class Watchdog::Impl {
 public:
  explicit Impl(const comm::Communicator& comm) : watch_(join_job(comm)) {
    // A signal is for the threads that were there before: its handler is not to hold this one up.
    const BlockedSignals blocked(FatalSignals::speak);
    thread_ = std::thread([this] {
      name_thread("tally-watchdog");
      watch_->run();
    });
  }
  ~Impl() {
    watch_->leave();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  std::unique_ptr<WatchThread> watch_;
  std::thread thread_;
};

Watchdog::Watchdog(const comm::Communicator& comm) : impl_(std::make_unique<Impl>(comm)) {}
Watchdog::~Watchdog() = default;

}  // namespace tally::watchdog
