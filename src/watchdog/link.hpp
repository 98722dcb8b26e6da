// SPDX-License-Identifier: Apache-2.0
// Another node's end of its connection to rank 0's watchdog. It connects, and connects again, by
// itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "connection.hpp"
#include "judgement.hpp"
#include "messages.hpp"

namespace tally::watchdog {

class Link {
 public:
  // `addresses` are those of rank 0's host, of which one has to be reached.
  Link(boost::asio::io_context& io, std::vector<std::string> addresses, std::uint16_t port,
       Hello hello);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  LinkState state() const;
  const JobReport& latest() const { return latest_; }
  void send(const NodeReport& report);

 private:
  void look();
  void try_next();
  void begin(tcp::socket socket);

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  const std::vector<std::string> addresses_;
  const std::uint16_t port_;
  const Hello hello_;
  std::size_t next_ = 0;
  int looks_unanswered_ = 0;
  std::shared_ptr<tcp::socket> trying_;
  std::shared_ptr<Connection> connection_;
  LinkState state_;
  JobReport latest_;
};

}  // namespace tally::watchdog
