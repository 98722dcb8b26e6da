// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/agree.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <thread>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/comm/notices.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::comm {
namespace {

// This is how long a rank that lost the claim waits until the rank that won it ends the job.
constexpr std::chrono::seconds kPatience{5};

// One integer holds a rank, times this, and an exit code: so one MPI_Allreduce finds the lowest
// failing rank and what it failed of.
constexpr std::int64_t kCodes = 256;

// It is the same on all ranks (SuppressedFailures), so that all take the same way through agree().
std::optional<ErrorKind> suppressed_kind;

// Text from libraries may hold line feeds, that from files anything.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_control = code < 0x20 || code == 0x7f;
    if (!is_control) line += c;
    if (is_control && !line.empty() && line.back() != ' ') line += ' ';
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return printable(line);
}

// The part of a text where it begins to differ from another, short enough for a message, with some
// text before it.
std::string excerpt(std::string_view text, std::size_t first_difference) {
  constexpr std::size_t kLead = 16;
  constexpr std::size_t kLength = 80;
  const std::size_t begin = text.size() <= kLength || first_difference <= kLead
                                ? 0
                                : std::min(first_difference, text.size()) - kLead;
  return format("{}{}{}", begin > 0 ? "…" : "", text.substr(begin, kLength),
                text.size() - begin > kLength ? "…" : "");
}

// Rank 0 removes what is incomplete, and no rank keeps progress because of the abort that follows,
// if they get to know in time.
void notify_peers(const Communicator& comm) {
  try {
    send_notice(comm, Notice::failed);
  } catch (const Error&) {  // MPI itself may be what failed
  }
}

void print_failure(const Communicator& comm, const Error& error) {
  const std::string line = failure_line(error, comm.rank(), comm.world_size(), host_name()) + "\n";
  // The line is written by one call, so that lines of several ranks do not mix. Nothing can be done
  // where that fails.
  while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

// The parts of a failure as rank 0 records it for the rank that has it.
struct FailureParts {
  std::string host, phase, object, problem, next_step;
};

FailureParts parts_of(const Error& error) {
  return {host_name(), std::string(current_phase()), std::string(current_object().view()),
          one_line(error.problem()), one_line(error.next_step())};
}

void record(const FailureParts& parts, int rank, int code) {
  record_failure({.code = code,
                  .rank = rank,
                  .host = parts.host,
                  .phase = parts.phase,
                  .object = parts.object,
                  .cause = parts.problem,
                  .next_step = parts.next_step});
}

// Collective. Rank `rank` has `parts`; rank 0 records it: it owns the output.
void record_on_root(const Communicator& comm, const FailureParts& parts, int rank, int code) {
  // A broadcast that fails comes here again, on every rank.
  static bool is_recording = false;
  if (std::exchange(is_recording, true)) return;
  // None of the texts has a line feed.
  std::istringstream texts(comm.broadcast(format("{}\n{}\n{}\n{}\n{}\n", parts.host, parts.phase,
                                                 parts.object, parts.problem, parts.next_step),
                                          rank));
  is_recording = false;
  FailureParts all;
  for (auto* text : {&all.host, &all.phase, &all.object, &all.problem, &all.next_step}) {
    std::getline(texts, *text);
  }
  if (comm.is_root()) record(all, rank, code);
}

}  // namespace

SuppressedFailures::SuppressedFailures(ErrorKind kind) { suppressed_kind = kind; }
SuppressedFailures::~SuppressedFailures() { suppressed_kind.reset(); }

std::string failure_line(const Error& error, int rank, int world_size, std::string_view host) {
  const std::string who = world_size > 1 ? format(" rank {} on {}", rank, host) : "";
  return format("tally: error[{}]{}: {}", exit_code(error.kind()), who, one_line(error.what()));
}

void agree(const Communicator& comm, const std::optional<Error>& local) {
  const trace::Span span(trace::Kind::collective, "agree");
  // The lowest failing rank has the largest value; 0 says that nobody failed.
  const std::int64_t ranks_from_end = comm.world_size() - comm.rank();
  const std::int64_t worst =
      comm.max(local ? ranks_from_end * kCodes + exit_code(local->kind()) : std::int64_t{0});
  if (worst == 0) return;
  const auto kind = static_cast<ErrorKind>(worst % kCodes);
  const bool is_mine = worst / kCodes == ranks_from_end;
  const auto rank = checked_cast<int>(comm.world_size() - worst / kCodes);
  if (kind == suppressed_kind) {
    throw AgreedFailure{kind,
                        comm.broadcast(is_mine ? one_line(local->what()) : std::string(), rank)};
  }
  if (is_mine) print_failure(comm, *local);
  record_on_root(comm, is_mine ? parts_of(*local) : FailureParts(), rank, exit_code(kind));
  throw AgreedFailure{kind, {}};
}

void fail_job(const Communicator& comm, const Error& error) {
  notify_peers(comm);
  const int code = exit_code(error.kind());
  const int first = claim_failure(code);
  if (first == 0) {
    print_failure(comm, error);
    record(parts_of(error), comm.rank(), code);
    abort_job(code);
  }
  // The abort of the first rank ends this process too. An abort from here could end the job before
  // the first rank has written its line.
  std::this_thread::sleep_for(kPatience);
  abort_job(first);
}

void end_with_peer() {
  std::this_thread::sleep_for(kPatience);
  // A peer on another node claims nothing here.
  const int first = claim_failure(exit_code(ErrorKind::internal));
  abort_job(first == 0 ? exit_code(ErrorKind::internal) : first);
}

void agree_on(const Communicator& comm, const std::function<void()>& step) {
  std::optional<Error> local;
  // Whatever is thrown here must not leave the function before all ranks know of it.
  try {
    step();
  } catch (...) {
    local = current_error();
  }
  agree(comm, local);
}

void agree_same(const Communicator& comm, ErrorKind kind, std::string_view what,
                std::string_view text) {
  const std::string root_text = comm.broadcast(std::string(text));
  const std::string root_host = comm.broadcast(host_name());
  std::optional<Error> local;
  // Every rank compares with rank 0, so the lowest one that differs prints its line.
  if (text != root_text) {
    const auto [here, there] =
        std::mismatch(text.begin(), text.end(), root_text.begin(), root_text.end());
    const auto position = to_size(here - text.begin());
    local.emplace(kind,
                  format("{} differs between ranks: '{}' on rank 0 ({}), '{}' on rank {} ({})",
                         what, excerpt(root_text, position), root_host, excerpt(text, position),
                         comm.rank(), host_name()),
                  "Start every rank with the same program, options and files.");
  }
  agree(comm, local);
}

}  // namespace tally::comm
