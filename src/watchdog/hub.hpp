// SPDX-License-Identifier: Apache-2.0
// Rank 0's end of the connections between watchdogs, one for each other node.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "connection.hpp"
#include "judgement.hpp"
#include "messages.hpp"

namespace tally::watchdog {

class Hub {
 public:
  // Listens on a port that the system chooses, on all addresses. Nodes are numbered from 1 on.
  // Throws boost::system::system_error.
  Hub(boost::asio::io_context& io, std::string token, int num_nodes);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  std::uint16_t port() const;

  struct Node {
    LinkState link;
    NodeReport report;  // the latest
    std::string host;
    std::shared_ptr<Connection> connection;
  };
  // By number, of which 0, rank 0's own node, stays as it is.
  const std::vector<Node>& nodes();
  void send_all(const JobReport& report);

 private:
  // A connection that has not said who it is.
  struct Stranger {
    std::shared_ptr<Connection> connection;
    std::chrono::steady_clock::time_point came;
  };

  void accept_next();
  void accept_later();
  void greet(const std::shared_ptr<Connection>& connection);
  int number_of(std::string_view line);
  void close_strangers();
  void receive(int number, const std::shared_ptr<Connection>& connection, std::string_view line);

  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  const std::string token_;
  std::vector<Node> nodes_;
  std::vector<Stranger> strangers_;
};

// Addresses of this host, but for those that only it can reach.
std::vector<std::string> own_addresses();

}  // namespace tally::watchdog
