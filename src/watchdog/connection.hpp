// SPDX-License-Identifier: Apache-2.0
// A TCP connection that carries lines. All of it happens on the thread that runs its io_context.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/streambuf.hpp>

namespace tally::watchdog {

using boost::asio::ip::tcp;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(tcp::socket socket);

  // `on_line` gets each line without its line feed, until the connection ends. A line that is too
  // long ends it.
  void read_lines(std::function<void(std::string_view)> on_line);
  // Sends without waiting. What the socket does not take now goes with a later call; while there is
  // such a rest, `line` is dropped: the next one says as much.
  void send(const std::string& line);
  bool is_open() const { return is_open_; }
  void close();

 private:
  void read_next();
  void flush();

  tcp::socket socket_;
  boost::asio::streambuf received_;
  std::string unsent_;
  std::function<void(std::string_view)> on_line_;
  bool is_open_ = true;
};

}  // namespace tally::watchdog
