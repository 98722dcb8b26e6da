// SPDX-License-Identifier: Apache-2.0
#include <tally/base/log.hpp>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <tally/base/printable.hpp>

namespace tally::log {
namespace {

spdlog::logger& logger() {
  static const auto kLogger = [] {
    // Messages go to stderr, because stdout belongs to results.
    auto made = spdlog::stderr_logger_mt("tally");
    made->set_pattern("tally: %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *kLogger;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  logger().set_level(verbosity == Verbosity::speaks ? spdlog::level::info : spdlog::level::off);
}

void note(std::string_view text) { logger().info("note: {}", printable(text)); }
void warning(std::string_view text) { logger().warn("warning: {}", printable(text)); }

}  // namespace tally::log
