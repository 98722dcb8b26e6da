// SPDX-License-Identifier: Apache-2.0
// Rank 0's end and those of other nodes, over the loopback interface.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include "hub.hpp"
#include "link.hpp"

namespace tally::watchdog {
namespace {

class Connections : public testing::Test {
 protected:
  // Runs what is to be done until `is_so`; false after some seconds.
  bool until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_so() && std::chrono::steady_clock::now() < end) {
      io_.run_one_for(std::chrono::milliseconds(50));
    }
    return is_so();
  }
  std::unique_ptr<Link> link(const std::string& token, std::vector<std::string> addresses) {
    return std::make_unique<Link>(io_, std::move(addresses), hub_.port(), Hello{token, 1, "node1"});
  }

  boost::asio::io_context io_;
  Hub hub_{io_, "secret", 3};
};

TEST_F(Connections, CarryReportsBothWays) {
  const auto other = link("secret", {"127.0.0.1"});
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.is_open; }));
  EXPECT_EQ(hub_.nodes()[1].host, "node1");
  EXPECT_FALSE(hub_.nodes()[2].link.was_made);
  EXPECT_FALSE(other->state().was_made);  // nothing has come so far
  hub_.send_all({.longest_step_s = 2.5, .failure_code = 8, .has_left = false});
  NodeReport report;
  report.summary.progress = 77;
  other->send(report);
  ASSERT_TRUE(until([&] { return other->state().heard > 0 && hub_.nodes()[1].link.heard > 0; }));
  EXPECT_EQ(other->latest().longest_step_s, 2.5);
  EXPECT_EQ(other->latest().failure_code, 8);
  EXPECT_EQ(hub_.nodes()[1].report.summary.progress, 77U);
}

TEST_F(Connections, KeepThePacesThatCameLast) {
  const auto other = link("secret", {"127.0.0.1"});
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.is_open; }));
  NodeReport report;
  report.summary.paces = {{3, 640, 1.5}};
  other->send(report);
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.heard == 1; }));
  other->send({});
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.heard == 2; }));
  ASSERT_EQ(hub_.nodes()[1].report.summary.paces.size(), 1U);
  EXPECT_EQ(hub_.nodes()[1].report.summary.paces[0].samples, 640);
}

TEST_F(Connections, FindTheAddressThatAnswers) {
  // Nothing listens at the first one, and the second is none.
  const auto other = link("secret", {"127.0.0.2", "nowhere", "127.0.0.1"});
  EXPECT_TRUE(until([&] { return hub_.nodes()[1].link.is_open; }));
}

TEST_F(Connections, AreMadeAgainAndEndWithAWord) {
  auto other = link("secret", {"127.0.0.1"});
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.is_open; }));
  hub_.nodes()[1].connection->close();
  EXPECT_FALSE(hub_.nodes()[1].link.is_open);
  ASSERT_TRUE(until([&] { return hub_.nodes()[1].link.is_open; }));
  NodeReport last;
  last.has_left = true;
  other->send(last);
  other.reset();
  ASSERT_TRUE(until([&] { return !hub_.nodes()[1].link.is_open; }));
  EXPECT_TRUE(hub_.nodes()[1].link.has_left);
}

// Sends all of `text`, or what the other end takes of it, until that closes the connection.
struct Stranger {
  Stranger(boost::asio::io_context& io, std::uint16_t port, std::string what)
      : socket(io), text(std::move(what)) {
    socket.connect({boost::asio::ip::address_v4::loopback(), port});
    socket.non_blocking(true);
  }
  bool is_let_go_of() {
    boost::system::error_code error;
    text.erase(0, socket.write_some(boost::asio::buffer(text), error));
    char byte = 0;
    socket.read_some(boost::asio::buffer(&byte, 1), error);
    return error && error != boost::asio::error::would_block;
  }

  tcp::socket socket;
  std::string text;
};

TEST_F(Connections, OfAnotherJobAreLetGoOf) {
  const auto other = link("guess", {"127.0.0.1"});
  bool was_open = false;
  ASSERT_TRUE(until([&] {
    was_open = was_open || other->state().is_open;
    return was_open && !other->state().is_open;
  }));
  EXPECT_FALSE(hub_.nodes()[1].link.was_made);
}

TEST_F(Connections, WithoutAHelloAreLetGoOf) {
  for (const auto& text :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(kMostLineBytes + 1, 'x'),
        to_line(Hello{"secret", 3, "there is no such node"})}) {
    Stranger stranger(io_, hub_.port(), text);
    EXPECT_TRUE(until([&] { return stranger.is_let_go_of(); })) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace tally::watchdog
