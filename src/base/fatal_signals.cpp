// SPDX-License-Identifier: Apache-2.0
#include <tally/base/fatal_signals.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/fixed_text.hpp>

#include "removal.hpp"

namespace tally {
namespace {

struct Meaning {
  int number;
  std::string_view name, cause, next_step;
};

constexpr std::string_view kDefect =
    "If the files are right ('tally inspect' reads them), report this line and the lines above it.";

constexpr std::array kMeanings{
    Meaning{SIGILL, "SIGILL", "the processor lacks an instruction that a library or tally uses",
            "Use a build of tally and of its libraries for this kind of processor."},
    Meaning{SIGBUS, "SIGBUS",
            "a file that is mapped into memory was cut short, or /dev/shm is full",
            "Look at 'df /dev/shm', and whether something writes to the files of this run."},
    Meaning{SIGSEGV, "SIGSEGV", "a defect of a library or of tally, or a damaged or hostile file",
            kDefect},
    Meaning{SIGFPE, "SIGFPE", "a division by zero in a library or in tally", kDefect},
    Meaning{SIGABRT, "SIGABRT", "a library gave up; its message may stand above", kDefect}};

constexpr Meaning kOverflow{SIGSEGV, "SIGSEGV", "the stack overflowed: something is nested deeply",
                            "Raise 'ulimit -s', or look for a hostile file."};

// Libraries that do not check what malloc() and mmap() return end so.
constexpr Meaning kLimitedMemory{
    SIGSEGV, "SIGSEGV", "memory ran out under 'ulimit -v', or a defect of a library or of tally",
    "Raise 'ulimit -v', or use fewer ranks on a node; if it stays, report this line."};

// This is more than a thread needs to write a line and remove files.
constexpr int kWaitForSpeakerMs = 5000;

// Large enough for what the kernel saves of the widest registers (AMX) and for the handler's texts.
constexpr std::size_t kStackBytes = 128 << 10;
alignas(64) std::array<std::byte, kStackBytes> handler_stack;

std::atomic<int> own_rank = -1;
std::atomic<int> own_world_size = 1;
// Of a process that shares none with others.
int own_claim = 0;
std::atomic<int*> failure_claim = &own_claim;
std::atomic<void (*)(const FailureRecord&) noexcept> recorder = nullptr;
std::atomic<pid_t> dying_thread = 0;
std::atomic<std::uintptr_t> end_of_stack = 0;  // of the main thread: it grows down to here
static_assert(std::atomic<int*>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

// Below the end of the stack, and above it where a call does not touch its frame in order.
bool is_stack_overflow(const siginfo_t& info) noexcept {
  constexpr std::uintptr_t kNear = 64 << 10;
  const auto end = end_of_stack.load();
  const auto at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  return end > kNear && info.si_signo == SIGSEGV && info.si_code > 0 && at > end - kNear &&
         at < end + kNear;
}

// Whether the size of this process is limited. It may be called in a signal handler.
bool is_memory_limited() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

class Host {
 public:
  Host() noexcept {
    // gethostname() may cut a name without ending it: the last byte stays 0.
    if (::gethostname(name_.data(), name_.size() - 1) != 0) name_ = {"unknown"};
  }
  std::string_view name() const noexcept { return name_.data(); }

 private:
  std::array<char, HOST_NAME_MAX + 1> name_ = {};
};

using Line = FixedText<1024>;

// "tally: error[9] rank 2 on node7: evaluate, data set 'val.h5'": as comm::failure_line() begins.
void begin_line(Line& line, ErrorKind kind, std::string_view host) noexcept {
  line << "tally: error[" << std::int64_t{exit_code(kind)} << "]";
  const int rank = own_rank.load();
  if (own_world_size.load() > 1 && rank >= 0) {
    line << " rank " << std::int64_t{rank} << " on " << host;
  }
  line << ": " << current_work().view() << ": ";
}

void report_death(ErrorKind kind, int code, std::string_view signal, std::string_view cause,
                  std::string_view next_step) noexcept {
  // Several ranks of the node may die of the same.
  if (claim_failure(exit_code(ErrorKind::internal)) != 0) return;
  const Host host;
  Line line;
  begin_line(line, kind, host.name());
  if (!signal.empty()) line << "signal " << signal << " (";
  line << cause << (signal.empty() ? ". " : "). ") << next_step << "\n";
  write_all(STDERR_FILENO, line.view());
  const WorkText object = current_object();
  record_failure({.code = code,
                  .signal = signal,
                  .rank = std::max(own_rank.load(), 0),
                  .host = host.name(),
                  .phase = current_phase(),
                  .object = object.view(),
                  .cause = cause,
                  .next_step = next_step});
}

void die_by_default(int signal_number) noexcept {
  std::signal(signal_number, SIG_DFL);
  // It is blocked until the handler returns. What the process was at is then on top of the stack,
  // in the core file, too.
  std::raise(signal_number);
}

// Whether this thread is the one that speaks. Another one that dies meanwhile waits for the end.
bool takes_over() noexcept {
  pid_t first = 0;
  if (dying_thread.compare_exchange_strong(first, ::gettid())) return true;
  if (first != ::gettid()) ::poll(nullptr, 0, kWaitForSpeakerMs);
  return false;
}

extern "C" void speak_and_die(int signal_number, siginfo_t* info, void*) {
  if (takes_over()) {
    const auto* meaning = std::ranges::find(kMeanings, signal_number, &Meaning::number);
    if (signal_number == SIGSEGV && is_memory_limited()) meaning = &kLimitedMemory;
    if (is_stack_overflow(*info)) meaning = &kOverflow;
    FixedText<64> sender;
    if (info->si_code == SI_USER) sender << "sent by process " << std::int64_t{info->si_pid};
    const bool is_sent = !sender.view().empty();
    report_death(ErrorKind::internal, 128 + signal_number, meaning->name,
                 is_sent ? sender.view() : meaning->cause,
                 is_sent ? std::string_view("Find out who ended it.") : meaning->next_step);
    remove_unfinished();
  }
  die_by_default(signal_number);
}

// What() of the exception that nobody caught, if it has one.
FixedText<300> uncaught_text() noexcept {
  FixedText<300> text;
  try {
    throw;
  } catch (const std::exception& error) {
    // From a library: of any length, and perhaps of several lines.
    for (const char& c : std::string_view(error.what())) {
      text << (c >= ' ' && c < '\x7f' ? std::string_view(&c, 1) : std::string_view(" "));
    }
  } catch (...) {
    text << "an exception of unknown type";
  }
  return text;
}

bool is_bad_alloc() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void speak_of_exception() noexcept {
  const bool has_exception = std::current_exception() != nullptr;
  const bool is_memory = has_exception && is_bad_alloc();
  constexpr int kOutOfMemory = exit_code(ErrorKind::environment);
  if (takes_over()) {
    if (is_memory) {
      report_death(
          ErrorKind::environment, kOutOfMemory, {}, "out of memory",
          "Raise 'ulimit -v' and 'ulimit -d', use fewer ranks on a node, or a node with more "
          "memory.");
    } else {
      FixedText<400> cause;
      cause << "nobody caught: "
            << (has_exception ? uncaught_text().view() : std::string_view("terminate was called"));
      report_death(ErrorKind::internal, 128 + SIGABRT, {}, cause.view(), kDefect);
    }
    remove_unfinished();
  }
  if (is_memory) std::_Exit(kOutOfMemory);
  std::abort();
}

void find_end_of_stack() noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (::pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
    end_of_stack.store(reinterpret_cast<std::uintptr_t>(lowest));
  }
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

void speak_of_fatal_signals() noexcept {
  std::set_terminate(speak_of_exception);
  stack_t stack = {};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  ::sigaltstack(&stack, nullptr);
  for (const auto& meaning : kMeanings) {
    struct sigaction now {};
    if (::sigaction(meaning.number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_sigaction = speak_and_die;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&ours.sa_mask);  // what ends a process asks for nothing more than this does
    ::sigaction(meaning.number, &ours, nullptr);
  }
}

void name_rank_of_failures(int rank, int world_size) noexcept {
  own_rank.store(rank);
  own_world_size.store(world_size);
  if (::gettid() == ::getpid()) find_end_of_stack();
}

RankOfFailures rank_of_failures() noexcept { return {own_rank.load(), own_world_size.load()}; }

void share_failure_claim(int* word) noexcept {
  if (word == nullptr) std::atomic_ref(own_claim).store(0);
  failure_claim.store(word == nullptr ? &own_claim : word);
}

int claim_failure(int code) noexcept {
  int first = 0;
  std::atomic_ref(*failure_claim.load()).compare_exchange_strong(first, code);
  return first;
}

int claimed_failure() noexcept { return std::atomic_ref(*failure_claim.load()).load(); }

void end_process(int code, const std::function<void()>& first) {
  constexpr std::chrono::seconds kPatience{5};
  const auto end = std::make_shared<std::promise<void>>();
  auto has_ended = end->get_future();
  try {
    std::thread([end, first] {
      if (first) first();
      remove_unfinished();
      end->set_value();
    }).detach();
    has_ended.wait_for(kPatience);
  } catch (const std::system_error&) {  // no more threads: there is nothing left to do
  }
  std::_Exit(code);
}

void record_failures(void (*new_recorder)(const FailureRecord&) noexcept) noexcept {
  recorder.store(new_recorder);
}

void record_failure(const FailureRecord& failure) noexcept {
  if (const auto record = recorder.load()) record(failure);
}

}  // namespace tally
