// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include <boost/asio/read_until.hpp>

#include "messages.hpp"

namespace tally::watchdog {

Connection::Connection(tcp::socket socket) : socket_(std::move(socket)), received_(kMostLineBytes) {
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
}

void Connection::read_lines(std::function<void(std::string_view)> on_line) {
  on_line_ = std::move(on_line);
  read_next();
}

void Connection::read_next() {
  boost::asio::async_read_until(
      socket_, received_, '\n',
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t num_bytes) {
        if (error || !self->is_open_) return self->close();
        const auto* const begin = static_cast<const char*>(self->received_.data().data());
        const std::string line(begin, num_bytes - 1);
        self->received_.consume(num_bytes);
        self->on_line_(line);
        if (self->is_open_) self->read_next();
      });
}

void Connection::send(const std::string& line) {
  if (!is_open_) return;
  if (unsent_.empty()) unsent_ = line;
  flush();
}

void Connection::flush() {
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_.native_handle(), unsent_.data(), unsent_.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) return close();
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

void Connection::close() {
  is_open_ = false;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace tally::watchdog
