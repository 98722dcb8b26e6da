// SPDX-License-Identifier: Apache-2.0
#include "verdict.hpp"

#include <cmath>
#include <ctime>
#include <string_view>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>

namespace tally::watchdog {
namespace {

std::string seconds_text(double seconds) {
  return seconds < 10 ? format("{:.1f} s", seconds) : format("{:.0f} s", seconds);
}

// "12 s, since 2026-11-28T08:31:05Z".
std::string duration_text(double seconds) {
  const auto began = std::time(nullptr) - static_cast<std::time_t>(std::lround(seconds));
  return format("{}, since {}", seconds_text(seconds), utc_text(began).view());
}

std::string_view kind_of(Activity activity) {
  switch (activity) {
    case Activity::read:
      return "a read of a file has not returned for";
    case Activity::step:
      return "a step of the loop has not ended for";
    default:
      return "there was no progress for";
  }
}

std::string cause_of(const Suspect& suspect) {
  switch (suspect.reason) {
    case Reason::no_progress:
      return format("{} {} (limit {})", kind_of(suspect.activity),
                    duration_text(suspect.unchanged_s), seconds_text(suspect.limit_s));
    case Reason::no_sign:
      return format("it has given no sign for {}: its process is stopped, or its node is lost",
                    duration_text(suspect.unchanged_s));
    case Reason::gone:
      return format("its process has ended, or its node is lost ({})",
                    duration_text(suspect.unchanged_s));
    case Reason::all_wait:
      break;
  }
  return format(
      "all ranks wait for one another in MPI, for {}; this one is behind the others, or as far",
      duration_text(suspect.unchanged_s));
}

std::string advice_of(const Suspect& suspect, double stall_limit_s) {
  const std::string_view look = suspect.reason == Reason::all_wait
                                    ? "Look at the network and MPI's own messages"
                                    : "Look at its node and file system";
  return format(
      "{}. Where progress was kept --resume goes on from it, and a watch goes on by itself when it "
      "is started again; --stall-limit waits longer (now {:g} s).",
      look, stall_limit_s);
}

}  // namespace

FailureRecord Verdict::record() const {
  return {.code = exit_code(ErrorKind::stalled),
          .rank = rank,
          .host = host,
          .phase = phase,
          .object = object,
          .cause = cause,
          .next_step = next_step};
}

std::string Verdict::line(int world_size) const {
  const auto at = object.empty() ? phase : format("{}, {}", phase, object);
  const Error error(ErrorKind::stalled, format("{}: {}", at, cause), next_step);
  return comm::failure_line(error, rank, world_size, host);
}

Verdict make_verdict(const Suspect& suspect, const Sign& sign, std::string host,
                     double stall_limit_s) {
  const auto phase = sign.phase.view();
  return {suspect.rank,
          std::move(host),
          std::string(phase.empty() ? std::string_view("start") : phase),
          std::string(sign.object.view()),
          cause_of(suspect),
          advice_of(suspect, stall_limit_s)};
}

}  // namespace tally::watchdog
