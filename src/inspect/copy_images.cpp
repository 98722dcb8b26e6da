// SPDX-License-Identifier: Apache-2.0
#include "copy_images.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_output(const fs::path& path, std::string_view reason) {
  throw Error(ErrorKind::output, format("cannot write '{}' ({})", printable(path.string()), reason),
              "Check the folder's permissions and free space.");
}

void require_new_or_empty(const fs::path& target) {
  if (!is_there(target)) return;
  std::error_code error;
  if (fs::is_directory(target, error) && fs::is_empty(target, error) && !error) return;
  throw Error(ErrorKind::output,
              format("'{}' exists and is no empty folder", printable(target.string())),
              "Choose another name with --copy-images.");
}

// A name comes from a file, which must not make this process read what lies elsewhere.
bool leads_out(const fs::path& name) {
  return name.empty() || name.is_absolute() ||
         std::ranges::find(name, fs::path("..")) != name.end();
}

fs::path source_of(const NamedSample& sample, const fs::path& images) {
  const fs::path name(sample.name);
  if (leads_out(name) || sample.name.find('\0') != std::string::npos) {
    throw Error(ErrorKind::dataset,
                format("sample {} is named '{}', which leads to no file below the folder of images",
                       sample.index, printable(sample.name)));
  }
  std::error_code error;
  if (fs::is_regular_file(images / name, error)) return images / name;
  throw Error(ErrorKind::usage,
              format("there is no file '{}', as sample {} is named",
                     printable((images / name).string()), sample.index),
              "Name the folder that the data set was prepared from with --images.");
}

// Read before it is written, so that an error says which of the two failed.
void write_copy(const fs::path& source, const fs::path& target) {
  const auto bytes = read_file(source, ErrorKind::usage, "image");
  const UniqueDescriptor file(
      ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) fail_output(target, errno_text(errno));
  if (const auto problem = write_at(file.get(), 0, bytes); !problem.empty()) {
    fail_output(target, problem);
  }
}

// "0001_17_cat.png". File systems take 255 bytes; the end of a longer name is the part that says
// what kind of file it is.
std::string name_of_copy(std::size_t place, const NamedSample& sample) {
  constexpr std::size_t kMostBytes = 255;
  std::string copy = format("{:04}_{}_", place, sample.index);
  const std::string name = fs::path(sample.name).filename();
  const std::size_t room = kMostBytes - copy.size();
  return copy + (name.size() > room ? name.substr(name.size() - room) : name);
}

// Removes the folder and what is in it unless it got its name.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& target) : path_(partial_path(target)) {
    std::error_code error;
    if (!fs::create_directory(path_, error)) {
      fail_output(path_, error ? error.message() : "it exists");
    }
  }
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const fs::path& path() const { return path_; }
  // An empty folder that has the name gives it up.
  void rename_to(const fs::path& target) {
    std::error_code error;
    fs::rename(path_, target, error);
    if (error) fail_output(target, error.message());
  }

 private:
  fs::path path_;
};

}  // namespace

void copy_images(const std::vector<NamedSample>& samples, const fs::path& images,
                 const fs::path& target) {
  // A slash at the end would put the temporary folder inside the one that is to be made.
  const fs::path folder = target.has_filename() ? target : target.parent_path();
  require_new_or_empty(folder);
  const fs::path partial = partial_path(folder);
  std::vector<fs::path> sources, copies;
  for (const NamedSample& sample : samples) {
    sources.push_back(source_of(sample, images));
    copies.push_back(partial / name_of_copy(copies.size() + 1, sample));
  }
  // Only this process makes the folder of this name: what a signal removes is its own.
  PartialFolder made(folder);
  remove_on_interrupt(copies, {partial});
  for (std::size_t i = 0; i < samples.size(); ++i) write_copy(sources[i], copies[i]);
  const HeldInterrupts hold;
  made.rename_to(folder);
}

}  // namespace tally::app
