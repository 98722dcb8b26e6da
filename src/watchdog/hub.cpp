// SPDX-License-Identifier: Apache-2.0
#include "hub.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <boost/asio/ip/v6_only.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/printable.hpp>

namespace tally::watchdog {
namespace {

// Connections that have not said who they are, beside one for each node.
constexpr std::size_t kMostStrangers = 16;
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostHelloBytes = 1024;

// One socket for both versions of IP where the system has both.
tcp::acceptor listen(boost::asio::io_context& io) {
  tcp::acceptor acceptor(io);
  boost::system::error_code no_v6;
  acceptor.open(tcp::v6(), no_v6);
  if (!no_v6) acceptor.set_option(boost::asio::ip::v6_only(false), no_v6);
  if (!no_v6) acceptor.bind({tcp::v6(), 0}, no_v6);
  if (no_v6) {
    acceptor = tcp::acceptor(io);
    acceptor.open(tcp::v4());
    acceptor.bind({tcp::v4(), 0});
  }
  acceptor.listen();
  return acceptor;
}

}  // namespace

Hub::Hub(boost::asio::io_context& io, std::string token, int num_nodes)
    : acceptor_(listen(io)), pause_(io), token_(std::move(token)), nodes_(to_size(num_nodes)) {
  accept_next();
}

Hub::~Hub() {
  for (const Stranger& one : strangers_) one.connection->close();
  for (const Node& node : nodes_) {
    if (node.connection) node.connection->close();
  }
}

std::uint16_t Hub::port() const { return acceptor_.local_endpoint().port(); }

void Hub::accept_next() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    // Without free descriptors the same error would come at once.
    if (error) return accept_later();
    greet(std::make_shared<Connection>(std::move(socket)));
    accept_next();
  });
}

void Hub::accept_later() {
  pause_.expires_after(kPatience);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error) accept_next();
  });
}

// A connection that does not soon begin with the token is closed.
void Hub::greet(const std::shared_ptr<Connection>& connection) {
  close_strangers();
  if (strangers_.size() >= kMostStrangers + nodes_.size()) return connection->close();
  strangers_.push_back({connection, std::chrono::steady_clock::now()});
  connection->read_lines(
      [this, itself = std::weak_ptr(connection), number = 0](std::string_view line) mutable {
        const auto held = itself.lock();  // it lives as long as it reads
        if (number > 0) return receive(number, held, line);
        number = number_of(line);
        if (number == 0) return held->close();
        std::erase_if(strangers_, [&](const Stranger& one) { return one.connection == held; });
        nodes_[to_size(number)].connection = held;
      });
}

// Of the node whose hello this is; 0: of none.
int Hub::number_of(std::string_view line) {
  if (line.size() > kMostHelloBytes) return 0;
  const auto hello = hello_from(line);
  if (!hello || hello->token != token_ || hello->node < 1 || hello->node >= std::ssize(nodes_)) {
    return 0;
  }
  Node& node = nodes_[to_size(hello->node)];
  node.host = printable(hello->host);
  node.link.was_made = true;
  return hello->node;
}

void Hub::close_strangers() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& one : strangers_) {
    if (now - one.came > kPatience) one.connection->close();
  }
  std::erase_if(strangers_, [](const Stranger& one) { return !one.connection->is_open(); });
}

void Hub::receive(int number, const std::shared_ptr<Connection>& connection,
                  std::string_view line) {
  auto report = node_report_from(line);
  if (!report) return connection->close();
  Node& node = nodes_[to_size(number)];
  ++node.link.heard;
  node.link.has_left = report->has_left;
  if (report->summary.paces.empty()) report->summary.paces = std::move(node.report.summary.paces);
  node.report = std::move(*report);
}

const std::vector<Hub::Node>& Hub::nodes() {
  close_strangers();
  for (Node& node : nodes_) node.link.is_open = node.connection && node.connection->is_open();
  return nodes_;
}

void Hub::send_all(const JobReport& report) {
  const std::string line = to_line(report);
  for (const Node& node : nodes_) {
    if (node.connection) node.connection->send(line);
  }
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, ::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    const bool is_up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (at->ifa_addr == nullptr || !is_up) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(at->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) ==
        0) {
      addresses.emplace_back(text.data());
    }
  }
  // Link-local ones, which name an interface of this host, mean nothing elsewhere.
  std::erase_if(addresses, [](const std::string& text) { return text.find('%') != text.npos; });
  return addresses;
}

}  // namespace tally::watchdog
