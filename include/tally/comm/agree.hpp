// SPDX-License-Identifier: Apache-2.0
// Keeps ranks together: before each collective they agree whether all of them have come so far.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/comm/communicator.hpp>

namespace tally::comm {

// Thrown on every rank after a failure of one of them was agreed on and its line printed.
struct AgreedFailure {
  ErrorKind kind;
  std::string suppressed_message;  // what SuppressedFailures kept from being printed
};

// While one lives, on all ranks, agreed failures of its kind are not printed: what catches
// AgreedFailure goes on, and finds the sentence in `suppressed_message`. Not nested.
class SuppressedFailures {
 public:
  explicit SuppressedFailures(ErrorKind kind);
  ~SuppressedFailures();
  SuppressedFailures(const SuppressedFailures&) = delete;
  SuppressedFailures& operator=(const SuppressedFailures&) = delete;
};

// "tally: error[3] rank 2 on node7: <sentence>", always one line; the rank is left out in a job of
// one.
std::string failure_line(const Error& error, int rank, int world_size, std::string_view host);

// Not collective. Ends the job because of a failure that nobody can agree on, for the peers compute
// or wait in a collective: the first rank of a node that comes here prints its line, and all that
// do end the job with that rank's code.
[[noreturn]] void fail_job(const Communicator& comm, const Error& error);

// Not collective. Ends this process with the job, which a peer ends that has failed (PeerFailed).
[[noreturn]] void end_with_peer();

// Collective. Passes if no rank failed; otherwise the first failing rank prints its line on stderr
// and every rank throws AgreedFailure with that rank's kind.
void agree(const Communicator& comm, const std::optional<Error>& local);

// Collective. Runs `step` and agrees on how it went; `step` itself must not communicate.
void agree_on(const Communicator& comm, const std::function<void()>& step);

// Collective. Passes if every rank gives the same text (a digest, a description); otherwise fails
// with Error(kind) saying that `what` differs, naming rank 0, the first rank that differs from it,
// and their hosts.
void agree_same(const Communicator& comm, ErrorKind kind, std::string_view what,
                std::string_view text);

}  // namespace tally::comm
