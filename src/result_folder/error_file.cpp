// SPDX-License-Identifier: Apache-2.0
#include <tally/result_folder/error_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/fixed_text.hpp>
#include <tally/result_folder/folder_lock.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

// The file begins so: a number that rises where a key is removed or changes its meaning.
constexpr std::string_view kErrorMark = "{\n  \"tally_error\": 1,\n";

// The longest text of a member, and room for all of them where each character is escaped.
constexpr std::size_t kLongest = 1000;
using ErrorText = FixedText<kLongest * 2 * 6 + 1024>;

// A signal handler reaches nothing but static storage, and takes no memory to make names of others.
struct ErrorPaths {
  std::string file, partial, lock;
  std::vector<std::string> folders;  // outermost first
};
std::unique_ptr<const ErrorPaths> owned_paths;
std::atomic<const ErrorPaths*> error_paths = nullptr;
std::atomic<bool> is_expected = false;
std::atomic<bool> is_owned = false;
static_assert(std::atomic<const ErrorPaths*>::is_always_lock_free);

// Reads the beginning of the file; a link or a pipe is none of ours.
bool begins_as_error_file(const char* path) noexcept {
  const UniqueDescriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::array<char, kErrorMark.size()> begin{};
  const ssize_t got = ::read(file.get(), begin.data(), begin.size());
  return got == std::ssize(begin) && std::string_view(begin.data(), begin.size()) == kErrorMark;
}

void append_member(ErrorText& text, std::string_view key, std::string_view value) noexcept {
  text << "  \"" << key << "\": ";
  if (value.empty()) {
    text << "null";
  } else {
    FixedText<kLongest> cut;
    cut << value;
    text << "\"";
    append_json(text, cut.view());
    text << "\"";
  }
  text << ",\n";
}

ErrorText text_of(const FailureRecord& failure) noexcept {
  ErrorText text;
  text << kErrorMark << "  \"code\": " << std::int64_t{failure.code} << ",\n";
  append_member(text, "signal", failure.signal);
  text << "  \"rank\": " << std::int64_t{failure.rank} << ",\n";
  append_member(text, "host", failure.host);
  append_member(text, "phase", failure.phase);
  append_member(text, "object", failure.object);
  append_member(text, "cause", failure.cause);
  append_member(text, "next_step", failure.next_step);
  text << "  \"time\": \"" << utc_text(std::time(nullptr)).view() << "\"\n}\n";
  return text;
}

// The folder of the first result of several need not be there yet.
void make_folders(const ErrorPaths& paths) noexcept {
  for (const auto& folder : paths.folders) ::mkdir(folder.c_str(), 0777);
}

bool write_partial(const char* path, std::string_view text) noexcept {
  const UniqueDescriptor file(
      ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file) return false;
  return write_all(file.get(), text) && (::fsync(file.get()) == 0 || errno == EINVAL);
}

void put(const ErrorPaths& paths) noexcept {
  // In a folder that this run has, a file of this name is one that another rank was faster with.
  if (is_owned.load()) {
    rename_to_new(paths.partial.c_str(), paths.file.c_str());
  } else if (::access(paths.file.c_str(), F_OK) != 0 || begins_as_error_file(paths.file.c_str())) {
    ::rename(paths.partial.c_str(), paths.file.c_str());
  }
}

void write_error_file(const FailureRecord& failure) noexcept {
  const ErrorPaths* paths = error_paths.exchange(nullptr);
  if (paths == nullptr || failure.code == exit_code(ErrorKind::usage)) return;
  // A folder that this run was refused says nothing of it.
  const bool is_refused = failure.code == exit_code(ErrorKind::output);
  const auto is_locked = [&] { return FolderLock::is_held_by_another(paths->lock.c_str()); };
  if (!is_owned.load() && (is_refused || is_locked())) return;
  make_folders(*paths);
  if (write_partial(paths->partial.c_str(), text_of(failure).view())) put(*paths);
  ::unlink(paths->partial.c_str());
}

}  // namespace

fs::path error_file_of(const fs::path& output) {
  std::error_code ignored;
  fs::path path = output.has_filename() ? output : output.parent_path();
  // "." and ".." have no name that could be continued.
  if (path.filename() == "." || path.filename() == "..") path = fs::canonical(path, ignored);
  return path.has_filename() ? fs::path(path.string() + ".error.json") : fs::path();
}

bool is_error_file(const fs::path& file) noexcept { return begins_as_error_file(file.c_str()); }

void remove_error_file(const fs::path& output) noexcept {
  try {
    const fs::path file = error_file_of(output);
    if (is_error_file(file)) ::unlink(file.c_str());
  } catch (const std::exception&) {  // an old file that stays harms less than a run that fails
  }
}

ErrorFile::ErrorFile() {
  is_expected.store(true);
  record_failures(write_error_file);
}

ErrorFile::~ErrorFile() {
  record_failures(nullptr);
  forget_error_file();
  is_expected.store(false);
  is_owned.store(false);
}

void name_error_file(const fs::path& output) {
  if (!is_expected.load()) return;
  const fs::path file = error_file_of(output);
  if (file.empty()) return;
  ErrorPaths paths{
      file.string(), partial_path(file).string(), FolderLock::path_in(output).string(), {}};
  for (fs::path at = file.parent_path(); at.has_filename(); at = at.parent_path()) {
    paths.folders.insert(paths.folders.begin(), at.string());
  }
  owned_paths = std::make_unique<const ErrorPaths>(std::move(paths));
  error_paths.store(owned_paths.get());
}

void own_error_file() noexcept { is_owned.store(true); }

void forget_error_file() noexcept { error_paths.store(nullptr); }

}  // namespace tally::app
