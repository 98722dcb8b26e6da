// SPDX-License-Identifier: Apache-2.0
#include <tally/base/probe_process.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/base/blocked_signals.hpp>
namespace tally {
namespace {

using End = ProbeOutcome::End;

// Exit codes of an attempt.
constexpr int kTooLarge = 2;
constexpr int kOtherFailure = 1;
// Longer subjects are not tried. A pipe holds at least an answer, so that nobody waits.
constexpr std::size_t kMostSubjectBytes = std::size_t{64} << 10;
constexpr std::size_t kMostAnswerBytes = PIPE_BUF;
// What the usual main thread has. Where it has no limit, endless recursion would take all memory.
constexpr rlim_t kStackBytes = rlim_t{8} << 20;

// Of a process that was just forked.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it ended before the kernel was asked
}

// What is open may be the other end of a pipe, whose reader would wait for its end.
void keep_open_only(int kept) {
  std::vector<int> others;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (descriptor != kept && descriptor > STDERR_FILENO) others.push_back(descriptor);
  }
  for (const int descriptor : others) ::close(descriptor);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  ::close(nothing);
}

void lower_limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  limit.rlim_max = std::min(limit.rlim_max, most);
  ::setrlimit(resource, &limit);
}

// What RLIMIT_DATA counts: writable memory of its own. The sixth number is that of pages.
rlim_t data_bytes() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// The answer goes to the pipe `answer`.
[[noreturn]] void try_and_exit(const ProbeProcess::Attempt& attempt, const std::string& subject,
                               const ProbeLimits& limits, int answer) {
  lower_limit(RLIMIT_DATA, data_bytes() + static_cast<rlim_t>(limits.memory_bytes));
  lower_limit(RLIMIT_STACK, kStackBytes);
  // Soft and hard limit are one, at which the kernel sends SIGKILL: SIGXCPU is blocked.
  lower_limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu_s));
  // Where cores go to a program only the second one keeps it from being started.
  lower_limit(RLIMIT_CORE, 0);
  ::prctl(PR_SET_DUMPABLE, 0);
  try {
    const std::string text = attempt(subject).substr(0, kMostAnswerBytes);
    const bool is_sent = ::write(answer, text.data(), text.size()) == std::ssize(text);
    ::_exit(is_sent ? 0 : kOtherFailure);
  } catch (const std::bad_alloc&) {
    ::_exit(kTooLarge);
  } catch (...) {
    ::_exit(kOtherFailure);
  }
}

// Waits for the child, and ends it when the time is over. Returns whether it was.
bool wait_or_kill(pid_t child, std::chrono::seconds most, int& status, rusage& usage) {
  using Clock = std::chrono::steady_clock;
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  const auto until = Clock::now() + most;
  while (::wait4(child, &status, WNOHANG, &usage) == 0) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(until - Clock::now());
    if (left.count() <= 0) {
      ::kill(child, SIGKILL);
      ::wait4(child, &status, 0, &usage);
      return true;
    }
    // The signal is blocked, so it also ends this wait if it came before.
    const timespec time{.tv_sec = left.count(), .tv_nsec = 0};
    ::sigtimedwait(&ended, nullptr, &time);
  }
  return false;
}

std::int64_t cpu_ms(const rusage& usage) {
  const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

ProbeOutcome outcome_of(pid_t child, const ProbeLimits& limits) {
  int status = 0;
  rusage usage{};
  if (wait_or_kill(child, std::chrono::seconds(limits.wall_s), status, usage)) return {End::waited};
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return {End::ended};
    return {WEXITSTATUS(status) == kTooLarge ? End::too_large : End::crashed};
  }
  const int signal = WTERMSIG(status);
  // The kernel counts for the limit in ticks, and here exactly: the two differ, and nothing else
  // sends this signal but the killer of processes when a node's memory is full.
  if (signal == SIGKILL && cpu_ms(usage) >= limits.cpu_s * 1000 / 2) return {End::too_slow};
  return {End::crashed, signal};
}

// Forks a process for the attempt. Its answer fits into the pipe, so it is read afterwards.
ProbeOutcome attempt_in_child(int socket, const ProbeProcess::Attempt& attempt,
                              const std::string& subject, const ProbeLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const UniqueDescriptor reading(ends[0]);
  UniqueDescriptor writing(ends[1]);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) {
    end_with(self);
    ::close(socket);  // else the other process would not learn that this one has ended
    try_and_exit(attempt, subject, limits, writing.get());
  }
  writing = UniqueDescriptor();
  ProbeOutcome outcome = outcome_of(child, limits);
  if (outcome.end != End::ended) return outcome;
  outcome.answer.resize(kMostAnswerBytes);
  const ssize_t size = ::read(reading.get(), outcome.answer.data(), outcome.answer.size());
  outcome.answer.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return outcome;
}

// Messages are numbers, and behind them a text.
template <class Numbers>
bool send_message(int socket, const Numbers& numbers, std::string_view text) {
  std::string message(sizeof numbers, '\0');
  std::memcpy(message.data(), &numbers, sizeof numbers);
  message += text;
  return ::send(socket, message.data(), message.size(), MSG_NOSIGNAL) == std::ssize(message);
}

template <class Numbers>
bool receive_message(int socket, Numbers& numbers, std::string& text) {
  std::string message(sizeof numbers + kMostSubjectBytes, '\0');
  ssize_t size = 0;
  do {
    size = ::recv(socket, message.data(), message.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < static_cast<ssize_t>(sizeof numbers)) return false;
  std::memcpy(&numbers, message.data(), sizeof numbers);
  text = message.substr(sizeof numbers, static_cast<std::size_t>(size) - sizeof numbers);
  return true;
}

struct Ended {
  End end = End::not_tried;
  int signal = 0;
};

// What the process does all its life. An exception would go on as if this were the process that was
// forked.
[[noreturn]] void serve(int socket, const ProbeProcess::Attempt& attempt) try {
  keep_open_only(socket);
  std::signal(SIGCHLD, SIG_DFL);  // ignored, children would leave no status
  ::prctl(PR_SET_NAME, "tally-probe");
  ProbeLimits limits;
  std::string subject;
  while (receive_message(socket, limits, subject)) {
    const ProbeOutcome outcome = attempt_in_child(socket, attempt, subject, limits);
    if (!send_message(socket, Ended{outcome.end, outcome.signal}, outcome.answer)) break;
  }
  ::_exit(0);
} catch (...) {
  ::_exit(0);
}

}  // namespace

ProbeProcess::ProbeProcess(const Attempt& attempt) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  socket_ = UniqueDescriptor(ends[0]);
  const UniqueDescriptor other(ends[1]);
  const pid_t self = ::getpid();
  // They stay blocked there: the process ends with this one, which signals may only ask to stop.
  const BlockedSignals blocked(FatalSignals::wait);
  process_ = ::fork();
  if (process_ == 0) {
    end_with(self);
    serve(other.get(), attempt);
  }
}

ProbeProcess::~ProbeProcess() {
  socket_ = UniqueDescriptor();
  while (process_ > 0 && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ProbeOutcome ProbeProcess::attempt(const std::string& subject, const ProbeLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (process_ <= 0 || subject.size() > kMostSubjectBytes) return {};
  Ended ended;
  std::string answer;
  if (!send_message(socket_.get(), limits, subject)) return {};
  if (!receive_message(socket_.get(), ended, answer)) return {};
  return {ended.end, ended.signal, std::move(answer)};
}

}  // namespace tally
