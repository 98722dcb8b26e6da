// SPDX-License-Identifier: Apache-2.0
#include "nccl_reducer.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/device/gpus.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::comm {
namespace {

constexpr std::string_view kStart = "the start";
constexpr std::string_view kNextStep =
    "'--reduce mpi' does without NCCL; NCCL_DEBUG=INFO makes it say more.";

// What a rank says in a round; the largest is what all ranks do. A rank whose deadline has passed,
// or that only hears of a peer's failure, leaves the word to one that knows the cause.
enum Vote : std::int64_t { through, waiting, without_cause, failed };

// The error of a rank that NCCL tells only that another rank failed.
struct PeerFailure : Error {
  using Error::Error;
};

// Where nothing is watched: longer than any job.
constexpr std::chrono::duration<double> kWithoutLimit = std::chrono::hours(24 * 365);

constexpr int kMajorStep = 10000;  // 22809 is 2.28.9

std::int64_t seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

NcclPatience NcclPatience::of_this_machine() {
  NcclPatience patience;
  // As a watchdog gives a call of MPI that all ranks are in.
  const double limit_s = 2 * stall_limit();
  patience.limit = std::chrono::duration_cast<std::chrono::nanoseconds>(
      limit_s > 0 ? std::chrono::duration<double>(limit_s) : kWithoutLimit);
  patience.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  patience.rest = [] { std::this_thread::sleep_for(std::chrono::microseconds(50)); };
  patience.aside = [](std::function<void()> work) { std::thread(std::move(work)).detach(); };
  return patience;
}

NcclReducer::NcclReducer(const Communicator& comm, const device::Device& device, NcclCalls calls,
                         NcclPatience patience, NcclSizes sizes)
    : comm_(comm), calls_(std::move(calls)), patience_(std::move(patience)), sizes_(sizes) {
  check_version();
  agree_on(comm_, [&] {
    device::make_current(device);  // NCCL takes the current one
    stream_.emplace(device);
  });
  make_communicator();
}

NcclReducer::~NcclReducer() {
  if (nccl_ == nullptr || std::uncaught_exceptions() > 0) return;
  try {
    close();
  } catch (...) {
    fail_job(comm_, current_error());
  }
}

std::string NcclReducer::description() const {
  const bool is_later = version_ != calls_.header_version;
  const auto built_with =
      is_later ? format("; built with {}", nccl_version_text(calls_.header_version)) : "";
  return format("nccl {} ({}{})", nccl_version_text(version_), calls_.path, built_with);
}

void NcclReducer::check_version() {
  agree_on(comm_, [&] {
    check(calls_.get_version(version_), "the version");
    if (goes_with(version_, calls_.header_version, kMajorStep)) return;
    throw Error(ErrorKind::environment,
                format("this tally needs NCCL {} or a later {}.x, but {} is {}",
                       nccl_version_text(calls_.header_version), calls_.header_version / kMajorStep,
                       calls_.path, nccl_version_text(version_)),
                "Run it with the LibTorch it was built with, or use '--reduce mpi'.");
  });
  agree_same(comm_, ErrorKind::environment, "the version of NCCL", nccl_version_text(version_));
}

// Collective. One id from every `ranks_per_id` ranks, the same list on all ranks.
std::vector<NcclUniqueId> NcclReducer::unique_ids() {
  std::vector<std::int64_t> ids_per_rank(to_size(comm_.world_size()));
  for (std::size_t rank = 0; rank < ids_per_rank.size(); rank += to_size(sizes_.ranks_per_id)) {
    ids_per_rank[rank] = 1;
  }
  std::vector<NcclUniqueId> local(to_size(ids_per_rank[to_size(comm_.rank())]));
  agree_on(comm_, [&] {
    for (NcclUniqueId& id : local) check(calls_.get_unique_id(id), kStart);
  });
  std::vector<NcclUniqueId> all(to_size(std::ranges::count(ids_per_rank, 1)));
  comm_.all_gather_rows(std::as_bytes(std::span(local)), sizeof(NcclUniqueId), ids_per_rank,
                        std::as_writable_bytes(std::span(all)));
  return all;
}

void NcclReducer::make_communicator() {
  const auto ids = unique_ids();
  bool is_begun = false;
  require(watch(kStart, [&] {
    if (!std::exchange(is_begun, true)) {
      check(calls_.init(nccl_, comm_.world_size(), ids, comm_.rank()), kStart);
    }
    return is_ready(kStart);
  }));
}

void NcclReducer::sum(std::span<std::int64_t> values) {
  const trace::Span span(trace::Kind::collective, "reduce");
  // The wait for a slow peer happens here, in MPI and without a limit, so that the limits on phases
  // of NCCL do not count it.
  agree_on(comm_, [&] {
    const auto num_bytes =
        std::min(std::ssize(values), sizes_.piece) * std::int64_t{sizeof(std::int64_t)};
    if (num_bytes <= host_.num_bytes()) return;
    host_ = device::HostBuffer(num_bytes, stream_->device());
    on_device_ = device::DeviceBuffer(num_bytes, stream_->device());
  });
  while (!values.empty()) {
    const auto count = std::min(values.size(), to_size(sizes_.piece));
    sum_piece(values.first(count));
    values = values.subspan(count);
  }
}

// The copy back follows when the addition is in the stream: a non-blocking communicator may say
// "in progress" and put it there only later.
void NcclReducer::sum_piece(std::span<std::int64_t> values) {
  constexpr std::string_view kPhase = "the addition";
  const auto bytes = std::as_writable_bytes(values);
  const auto staged = host_.bytes().first(bytes.size());
  std::ranges::copy(bytes, staged.begin());
  bool is_begun = false;
  bool is_on_its_way_back = false;
  require(watch(kPhase, [&] {
    if (!std::exchange(is_begun, true)) {
      stream_->copy_to_device(on_device_.data(), staged);
      check(calls_.all_reduce_int64_sum(on_device_.as<std::int64_t>(), values.size(), nccl_,
                                        stream_->handle()),
            kPhase);
    }
    if (!is_ready(kPhase)) return false;
    if (!std::exchange(is_on_its_way_back, true)) {
      stream_->copy_to_host(staged.data(), on_device_.bytes().first(bytes.size()));
    }
    return stream_->is_done();
  }));
  std::ranges::copy(staged, bytes.begin());
}

// The results are safe by now: what goes wrong here is reported, but fails nothing.
void NcclReducer::close() {
  constexpr std::string_view kPhase = "the end";
  comm_.barrier();
  bool is_begun = false;
  const auto outcome = watch(kPhase, [&] {
    if (!std::exchange(is_begun, true)) check(calls_.finalize(nccl_), kPhase);
    return is_ready(kPhase);
  });
  if (outcome.failed) {
    log::warning(outcome.local ? outcome.local->what()
                               : "NCCL did not end in order on another rank");
    abort();
    return;
  }
  const NcclCode code = calls_.destroy(std::exchange(nccl_, nullptr));
  if (code != NcclCode::success && code != NcclCode::in_progress) {
    log::warning(format("NCCL did not free its communicator: {}", comm::name(code)));
  }
}

// Says how far this rank is with a phase that began at `begin`, with the error if it failed.
NcclReducer::Report NcclReducer::look(std::string_view phase,
                                      const std::function<bool()>& is_through,
                                      std::chrono::nanoseconds begin) const {
  try {
    if (is_through()) return {through, std::nullopt};
  } catch (const PeerFailure& failure) {
    return {without_cause, failure};
  } catch (...) {
    return {failed, current_error()};
  }
  if (patience_.now() - begin < patience_.limit) return {waiting, std::nullopt};
  return {without_cause,
          Error(ErrorKind::stalled,
                format("NCCL: {} did not end within {} s", phase, seconds(patience_.limit)),
                kNextStep)};
}

// Collective. Asks `is_through` again and again, and after each answer all ranks vote. So MPI is
// kept moving, and all ranks stop in the same round.
NcclReducer::Outcome NcclReducer::watch(std::string_view phase,
                                        const std::function<bool()>& is_through) {
  for (const auto begin = patience_.now();; patience_.rest()) {
    const Report local = look(phase, is_through, begin);
    const auto voting = patience_.now();
    const auto worst = comm_.max_or_abandon(
        local.vote, [&] { return patience_.now() - voting >= patience_.limit; });
    if (!worst) {
      // At once, without unwinding: NCCL is left alone, and to free the GPU's memory would be to
      // wait for the addition that waits for that peer.
      fail_job(comm_, Error(ErrorKind::stalled,
                            format("NCCL: during {} a peer gave no answer for {} s; it hangs "
                                   "inside NCCL or its driver",
                                   phase, seconds(patience_.limit)),
                            kNextStep));
    }
    if (*worst == through) return {};
    if (*worst != waiting) return {true, local.vote == *worst ? local.error : std::nullopt};
  }
}

// Collective after a failure: throws AgreedFailure on all ranks, with the line of a rank that knows
// the cause.
void NcclReducer::require(const Outcome& outcome) {
  if (!outcome.failed) return;
  try {
    agree(comm_, outcome.local);
  } catch (const AgreedFailure&) {
    abort();
    throw;
  }
}

bool NcclReducer::is_ready(std::string_view phase) const {
  NcclCode state = NcclCode::success;
  check(calls_.async_error(nccl_, state), phase);
  check(state, phase);
  return state == NcclCode::success;
}

// A call that is in progress has not failed.
void NcclReducer::check(NcclCode code, std::string_view phase) const {
  if (code == NcclCode::success || code == NcclCode::in_progress) return;
  const auto problem =
      format("NCCL: {} failed: {} ({})", phase, comm::name(code), calls_.last_error(nccl_));
  if (code == NcclCode::remote_error) {
    throw PeerFailure(ErrorKind::environment, problem, kNextStep);
  }
  throw Error(ErrorKind::environment, problem, kNextStep);
}

// On its own thread, for it may hang where a peer is dead or the GPU ill; then the job ends without
// another call of NCCL.
void NcclReducer::abort() {
  const NcclHandle nccl = std::exchange(nccl_, nullptr);
  if (nccl == nullptr) return;
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  patience_.aside([is_done, nccl, abort = calls_.abort] {
    abort(nccl);
    *is_done = true;
  });
  const auto begin = patience_.now();
  for (; !*is_done; patience_.rest()) {
    if (patience_.now() - begin >= patience_.limit) abort_job(exit_code(ErrorKind::stalled));
  }
}

}  // namespace tally::comm
