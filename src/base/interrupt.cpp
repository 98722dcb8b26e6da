// SPDX-License-Identifier: Apache-2.0
#include <tally/base/interrupt.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tally/base/error.hpp>

#include "removal.hpp"

namespace tally {
namespace {

// The handler removes `files`, undoes the renames, and then removes what is in `last`.
struct Doomed {
  std::vector<std::string> files, last;
  std::vector<std::pair<std::string, std::string>> renames;  // from, to
  ProgressFolder progress;                                   // where it stays, so do these:
  std::vector<std::string> with_progress;
};

// A signal handler can reach nothing but static storage. It reads the list and calls only
// async-signal-safe functions; the list is complete before its address is published.
std::atomic<const Doomed*> doomed = nullptr;
static_assert(std::atomic<const Doomed*>::is_always_lock_free);

// This is more than the second that Open MPI's mpirun leaves between SIGTERM and SIGKILL.
constexpr int kPatienceMs = 2000;

// All that end a process at a user's, a terminal's, a launcher's or a batch system's request.
// Slurm's --signal and a soft limit of CPU time come before the kill that nothing survives.
constexpr std::array kEndingSignals{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                    SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};

constexpr std::string_view kRemovedLine = "tally: interrupted; the incomplete result was removed\n";
constexpr std::string_view kKeptLine =
    "tally: interrupted; the progress is kept, and --resume goes on from it\n";

std::atomic<bool> is_held = false;
std::atomic<int> came_while_held = 0;
std::atomic<bool> is_dying = false;
std::atomic<bool> has_removed = false;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// Ends the process by the signal itself, so that its parent sees which signal ended it.
void die_of(int signal_number) {
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void unlink_all(const std::vector<std::string>& files) {
  for (const auto& file : files) ::unlink(file.c_str());
}

enum class Cleanup { nothing_listed, removed, has_progress };

Cleanup remove_listed() {
  const Doomed* list = doomed.load();
  if (list == nullptr) return Cleanup::nothing_listed;
  const bool is_kept = !list->progress.path.empty() && !remove_without_whole_file(list->progress);
  unlink_all(list->files);
  if (!is_kept) unlink_all(list->with_progress);
  // The new files are gone by now, so the earlier ones get their names again. Folders come last:
  // only then can they be empty.
  for (const auto& [from, to] : list->renames) ::rename(from.c_str(), to.c_str());
  for (const auto& path : list->last) {
    if (::rmdir(path.c_str()) != 0) ::unlink(path.c_str());
  }
  return is_kept ? Cleanup::has_progress : Cleanup::removed;
}

extern "C" void remove_and_die(int signal_number) {
  if (is_held.load()) {
    came_while_held.store(signal_number);
    return;
  }
  if (is_dying.exchange(true)) return;  // the first signal removes, on whatever thread
  const Cleanup done = remove_listed();
  has_removed.store(true);
  if (done != Cleanup::nothing_listed) {
    const auto line = done == Cleanup::has_progress ? kKeptLine : kRemovedLine;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  }
  if (done == Cleanup::has_progress) ::_exit(kResumableExitCode);
  die_of(signal_number);
}

extern "C" void wait_and_die(int signal_number) {
  ::poll(nullptr, 0, kPatienceMs);
  die_of(signal_number);
}

std::atomic<bool> stop_asked = false;
std::atomic<std::int64_t> first_sigterm_ms = 0;  // 0: none yet
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
// This is what signals do where they do not ask to stop, or do so a second time.
std::atomic<void (*)(int)> last_resort = SIG_DFL;
bool only_asks = false;

std::atomic<pid_t> launcher = 0;
// From the launcher's SIGTERM to the removal of what is incomplete; 0 where no SIGKILL follows.
std::atomic<int> removal_delay_ms = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);

void do_as_last_resort(int signal_number) {
  void (*const handler)(int) = last_resort.load();
  handler == SIG_DFL ? die_of(signal_number) : handler(signal_number);
}

extern "C" void end_before_kill(int) { do_as_last_resort(SIGTERM); }

timer_t before_kill;
std::atomic<bool> is_timer_made = false;
std::atomic<bool> is_kill_near = false;

// Signals of its own: libraries take the first and the last real-time signals.
int launcher_signal() { return SIGRTMIN + 6; }
int timer_signal() { return SIGRTMIN + 7; }

// A signal handler can start a timer, but make none.
void make_timer() {
  std::signal(timer_signal(), end_before_kill);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = timer_signal();
  is_timer_made.store(::timer_create(CLOCK_MONOTONIC, &event, &before_kill) == 0);
}

void set_timer(int delay_ms) {
  const itimerspec once{.it_interval = {}, .it_value = {0, delay_ms * 1'000'000L}};
  if (is_timer_made.load()) ::timer_settime(before_kill, 0, &once, nullptr);
}

// The kernel repeats SIGXCPU every second, and batch systems may repeat the warnings that users
// choose: a second one of these asks for nothing more than the first.
bool only_warns(int signal_number) {
  return signal_number == SIGUSR1 || signal_number == SIGUSR2 || signal_number == SIGXCPU;
}

std::int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// At a time limit Slurm sends SIGTERM twice within some 30 ms, which is one request.
bool is_repetition(int signal_number) {
  constexpr std::int64_t kTogetherMs = 1000;
  if (signal_number != SIGTERM) return false;
  const std::int64_t now_ms = monotonic_ms();
  std::int64_t first_ms = 0;
  return !first_sigterm_ms.compare_exchange_strong(first_ms, now_ms) &&
         now_ms - first_ms < kTogetherMs;
}

extern "C" void ask_to_stop(int signal_number, siginfo_t* info, void*) {
  const bool repeats = is_repetition(signal_number);
  const bool is_first = !stop_asked.exchange(true);
  const bool kill_follows =
      signal_number == SIGTERM && removal_delay_ms.load() > 0 && info->si_pid == launcher.load();
  if (kill_follows && !is_kill_near.exchange(true)) return set_timer(removal_delay_ms.load());
  if (!is_first && !repeats && !only_warns(signal_number)) do_as_last_resort(signal_number);
}

// A process that was started to ignore a signal goes on doing so, as `nohup` asks for SIGHUP.
// Shells that are no terminal's start jobs in the background so for SIGINT and SIGQUIT; that such a
// job can be interrupted is worth more.
bool is_ignored(int signal_number) {
  if (signal_number == SIGINT || signal_number == SIGTERM) return false;
  struct sigaction now {};
  return ::sigaction(signal_number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void set_handlers(void (*handler)(int)) {
  for (const int signal_number : kEndingSignals) {
    if (!is_ignored(signal_number)) std::signal(signal_number, handler);
  }
}

void set_asking_handlers() {
  struct sigaction asking {};
  asking.sa_sigaction = ask_to_stop;
  asking.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal_number : kEndingSignals) {
    if (!is_ignored(signal_number)) ::sigaction(signal_number, &asking, nullptr);
  }
}

// Sets what the signals do. Where they only ask to stop, it is what a second one does.
void handle_interrupts(void (*handler)(int)) {
  last_resort.store(handler);
  if (!only_asks) set_handlers(handler);
}

// The kernel sends launcher_signal() when the thread ends that started this process: Open MPI's
// launcher starts many ranks by threads that do not last, so that this is no sign of its end yet.
// By SIGTERM in its place nobody could say whether the launcher had sent it.
extern "C" void end_without_launcher(int) {
  // Without it Open MPI soon ends the process itself, so that no batch can be awaited.
  if (::getppid() != launcher.load()) do_as_last_resort(SIGTERM);
}

}  // namespace

void remove_unfinished() noexcept {
  if (is_held.load()) return;
  if (!is_dying.exchange(true)) {
    remove_listed();
    has_removed.store(true);
  }
  // Another thread may be at it, and the process must not end meanwhile.
  for (int ms = 0; ms < kPatienceMs && !has_removed.load(); ms += 10) ::poll(nullptr, 0, 10);
}

void remove_on_interrupt(const std::vector<std::filesystem::path>& files,
                         const std::vector<std::filesystem::path>& last,
                         const std::vector<Rename>& renames, const KeptProgress& kept) {
  auto list = std::make_unique<Doomed>();
  for (const auto& file : files) list->files.push_back(file.string());
  for (const auto& path : last) list->last.push_back(path.string());
  for (const auto& [from, to] : renames) list->renames.emplace_back(from.string(), to.string());
  list->progress = kept.folder;
  for (const auto& file : kept.files) list->with_progress.push_back(file.string());
  const bool any = !files.empty() || !last.empty() || !kept.files.empty();
  // The lists before are kept for a while: a handler on another thread may be reading one.
  constexpr std::size_t kKept = 8;
  static std::deque<std::unique_ptr<const Doomed>> lists;
  lists.push_back(std::move(list));
  doomed.store(any ? lists.back().get() : nullptr);
  if (lists.size() > kKept) lists.pop_front();
  handle_interrupts(any || is_held.load() ? remove_and_die : SIG_DFL);
}

HeldInterrupts::HeldInterrupts() {
  is_held.store(true);
  handle_interrupts(remove_and_die);
}

HeldInterrupts::~HeldInterrupts() {
  is_held.store(false);
  // A signal that came meanwhile is handled now, with the list as it is after the steps.
  if (const int signal_number = came_while_held.exchange(0)) remove_and_die(signal_number);
  if (doomed.load() == nullptr) handle_interrupts(SIG_DFL);
}

StopOnInterrupt::StopOnInterrupt() : is_outermost_(!only_asks) {
  only_asks = true;
  if (!is_outermost_) return;
  stop_asked.store(false);
  first_sigterm_ms.store(0);
  is_kill_near.store(false);
  if (removal_delay_ms.load() > 0 && !is_timer_made.load()) make_timer();
  set_asking_handlers();
}

StopOnInterrupt::~StopOnInterrupt() {
  if (!is_outermost_) return;
  only_asks = false;
  set_timer(0);
  set_handlers(last_resort.load());
}

bool asked_to_stop() { return stop_asked.load(); }

void wait_on_interrupt() { handle_interrupts(wait_and_die); }

void end_with_launcher() {
  launcher.store(::getppid());
  // Open MPI's mpirun kills after a second, since 5.0 (PRRTE) after 0.22 s; Slurm's srun, after
  // half a minute (KillWait), and MPICH's, which does not kill, set neither variable.
  const int delay_ms = std::getenv("PRTE_LAUNCHED") != nullptr ? 100 : 500;
  removal_delay_ms.store(std::getenv("OMPI_COMM_WORLD_RANK") != nullptr ? delay_ms : 0);
  std::signal(launcher_signal(), end_without_launcher);
  ::prctl(PR_SET_PDEATHSIG, launcher_signal());
  end_without_launcher(0);  // it may have ended before the kernel was asked
}

void let_writes_fail() {
  for (const int signal_number : {SIGPIPE, SIGXFSZ}) std::signal(signal_number, SIG_IGN);
}

}  // namespace tally
