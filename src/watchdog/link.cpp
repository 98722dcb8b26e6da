// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/ip/address.hpp>

namespace tally::watchdog {
namespace {

// Between two looks at the connection. An address that cannot be reached need not refuse.
constexpr std::chrono::seconds kBetweenLooks{1};
// Another host may have the same address, on a network of its own, and a server at the same port.
constexpr int kMostUnanswered = 5;

}  // namespace

Link::Link(boost::asio::io_context& io, std::vector<std::string> addresses, std::uint16_t port,
           Hello hello)
    : io_(io), timer_(io), addresses_(std::move(addresses)), port_(port), hello_(std::move(hello)) {
  if (!addresses_.empty()) look();
}

Link::~Link() {
  if (connection_) connection_->close();
}

void Link::look() {
  timer_.expires_after(kBetweenLooks);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) look();
  });
  const bool is_open = connection_ && connection_->is_open();
  if (is_open && ++looks_unanswered_ <= kMostUnanswered) return;
  if (is_open && state_.was_made) return;  // once it was right, silence is for others to judge
  if (!state_.has_left) try_next();
}

void Link::try_next() {
  if (connection_) connection_->close();
  connection_.reset();
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(addresses_[next_], error);
  next_ = (next_ + 1) % addresses_.size();
  if (error) return;
  if (trying_) trying_->close(error);
  trying_ = std::make_shared<tcp::socket>(io_);
  trying_->async_connect({address, port_},
                         [this, socket = trying_](const boost::system::error_code& failure) {
                           if (!failure && socket == trying_) begin(std::move(*socket));
                         });
}

void Link::begin(tcp::socket socket) {
  looks_unanswered_ = 0;
  connection_ = std::make_shared<Connection>(std::move(socket));
  connection_->read_lines([this](std::string_view line) {
    const auto report = job_report_from(line);
    if (!report) return;
    latest_ = *report;
    looks_unanswered_ = 0;
    ++state_.heard;
    state_.was_made = true;
    state_.has_left = latest_.has_left;
  });
  connection_->send(to_line(hello_));
}

LinkState Link::state() const {
  LinkState state = state_;
  state.is_open = connection_ && connection_->is_open();
  return state;
}

void Link::send(const NodeReport& report) {
  if (connection_) connection_->send(to_line(report));
}

}  // namespace tally::watchdog
