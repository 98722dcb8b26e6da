#include "gather_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include <tally/base/error.hpp>
#include <tally/base/file_io.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/unique_descriptor.hpp>
#include <tally/comm/agree.hpp>

#include "gather_columns.hpp"

namespace tally::app {
namespace {

// A file under its temporary name; OutputFolder removes it after a failure.
class PartialFile {
 public:
  explicit PartialFile(const std::filesystem::path& path)
      : path_(path),
        file_(::open(partial_path(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!file_) refuse(errno_text(errno));
  }

  void append(std::span<const std::byte> bytes) {
    const std::string problem = write_at(file_.get(), size_, bytes);
    if (!problem.empty()) refuse(problem);
    size_ += std::ssize(bytes);
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorKind::output, format("'{}' cannot be written ({})", path_.string(), why),
                "Check the folder's permissions and free space.");
  }

  std::filesystem::path path_;
  UniqueDescriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace

void gather_json(const comm::Communicator& comm, JsonForm form,
                 const predictions::PredictionLog& mine, std::int64_t column,
                 std::int64_t window_bytes, const std::filesystem::path& path) {
  std::optional<PartialFile> file;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) file.emplace(path).append(form == JsonForm::object ? "{" : "[");
  });
  gather_elements(
      comm, mine, column, window_bytes,
      [&](std::int64_t, std::int64_t, std::span<const std::byte> bytes) { file->append(bytes); });
  comm::agree_on(comm, [&] {
    if (file) file->append(form == JsonForm::object ? "\n}\n" : "\n]\n");
  });
}

}  // namespace tally::app
