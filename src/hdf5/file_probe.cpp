// SPDX-License-Identifier: Apache-2.0
#include <tally/hdf5/file_probe.hpp>

#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <utility>

#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/hdf5/library.hpp>

#include "library.hpp"
#include "read_metadata.hpp"
#include "require_harmless.hpp"

namespace tally::hdf5 {
namespace {

FileProbe* current = nullptr;

// Objects, chunks and texts take time each and have bytes each: 4 MiB of them take a small part of
// a second. A large file may thus take longer, a small one ends a hang soon.
ProbeLimits limits_for(std::int64_t file_bytes) {
  constexpr std::int64_t kBytesPerSecond = std::int64_t{4} << 20, kMostSeconds = 300;
  ProbeLimits limits;
  limits.cpu_s = std::min(limits.cpu_s + file_bytes / kBytesPerSecond, kMostSeconds);
  return limits;
}

std::string signal_text(int signal) {
  constexpr std::pair<int, const char*> kNames[] = {
      {SIGSEGV, " (SIGSEGV)"}, {SIGABRT, " (SIGABRT)"}, {SIGBUS, " (SIGBUS)"},
      {SIGFPE, " (SIGFPE)"},   {SIGILL, " (SIGILL)"},   {SIGKILL, " (SIGKILL)"}};
  for (const auto& [number, name] : kNames) {
    if (number == signal) return name;
  }
  return signal == 0 ? "" : format(" (signal {})", signal);
}

// In the other process; what FileProbe asks for is `what` begins messages, NUL, and the path. Empty
// if all is well.
std::string read_all(const std::string& request) {
  const auto end = request.find('\0');
  try {
    read_metadata(request.substr(end + 1), request.substr(0, end));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

[[noreturn]] void refuse(const Subject& subject, std::string_view what_hdf5_does) {
  fail(subject, "", format("is damaged or hostile: HDF5's own parser {}", what_hdf5_does),
       "Copy or write it again.");
}

}  // namespace

FileProbe::FileProbe() : process_(read_all) { current = this; }

FileProbe::~FileProbe() { current = nullptr; }

ProbeOutcome FileProbe::outcome_of(const Subject& subject, const ProbeLimits& limits) {
  const auto& path = subject.path;
  const UniqueDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto stamp = FileStamp::of(file.get());
  if (!stamp) return {};  // the Reader says why
  const auto known = tried_.find(path.string());
  if (known != tried_.end() && known->second.stamp == *stamp) return known->second.outcome;
  ProbeOutcome outcome = process_.attempt(subject.what + '\0' + path.string(), limits);
  if (outcome.end == ProbeOutcome::End::not_tried) {
    log::note("no process can be started in which HDF5 files are tried before they are opened");
  }
  tried_[path.string()] = {*stamp, outcome};
  return outcome;
}

void require_harmless(const Subject& subject) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (current == nullptr || subject.kind == ErrorKind::output) return;
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(subject.path, ignored);
  if (ignored) return;
  const ProbeLimits limits = limits_for(static_cast<std::int64_t>(bytes));
  const ProbeOutcome outcome = current->outcome_of(subject, limits);
  switch (outcome.end) {
    case ProbeOutcome::End::not_tried:
      return;
    case ProbeOutcome::End::ended:
      if (outcome.answer.empty()) return;
      throw Error(subject.kind, outcome.answer);
    case ProbeOutcome::End::crashed:
      refuse(subject, format("crashes on it{}", signal_text(outcome.signal)));
    case ProbeOutcome::End::too_slow:
      refuse(subject, format("finds no end in it ({} s)", limits.cpu_s));
    case ProbeOutcome::End::too_large:
      refuse(subject, format("needs more than {} MiB for it", limits.memory_bytes >> 20));
    case ProbeOutcome::End::waited:
      fail(subject, "", format("gave no answer for {} s", limits.wall_s),
           "Check the file system that it is on.");
  }
}

void probe_file(const std::filesystem::path& path, ErrorKind kind, std::string_view what) {
  if (is_hdf5_file(path)) require_harmless({kind, std::string(what), path});
}

}  // namespace tally::hdf5
