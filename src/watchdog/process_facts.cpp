// SPDX-License-Identifier: Apache-2.0
#include "process_facts.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <tally/base/files.hpp>

namespace tally::watchdog {
namespace {

// "rchar: 5120\nwchar: 12\n…": the bytes of read() and write() and of their like, whatever they
// were read from.
std::uint64_t bytes_in(std::string_view text) {
  std::uint64_t sum = 0;
  for (const std::string_view key : {"rchar: ", "wchar: "}) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) continue;
    std::uint64_t number = 0;
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
    sum += number;
  }
  return sum;
}

std::uint64_t bytes_moved_by(const std::string& thread) {
  const UniqueDescriptor file(
      ::open(("/proc/self/task/" + thread + "/io").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return got > 0 ? bytes_in({text.data(), static_cast<std::size_t>(got)}) : 0;
}

}  // namespace

std::uint64_t bytes_moved_by_others() {
  const auto own = std::to_string(::gettid());
  std::uint64_t sum = 0;
  std::error_code error;  // threads end meanwhile
  for (std::filesystem::directory_iterator threads("/proc/self/task", error), end;
       !error && threads != end; threads.increment(error)) {
    const std::string name = threads->path().filename();
    if (name != own) sum += bytes_moved_by(name);
  }
  return sum;
}

std::uint64_t pid_namespace() noexcept {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool has_ended(pid_t pid) noexcept { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace tally::watchdog
