// SPDX-License-Identifier: Apache-2.0
#include "records_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "record_frames.hpp"

namespace tally::resume {
namespace {

// A frame is read, and checked, as a whole.
constexpr std::int64_t kMostFrameBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostFrameRows = 16384;

[[noreturn]] void fail_records(const std::filesystem::path& path, const char* call,
                               const std::string& why) {
  throw Error(ErrorKind::output,
              format("cannot write '{}' ({}: {})", printable(path.string()), call, why),
              "Check the folder's permissions and free space.");
}

}  // namespace

RecordsFile::RecordsFile(std::filesystem::path path, RecordColumns columns)
    : path_(std::move(path)),
      log_(std::move(columns.log)),
      retained_(std::move(columns.retained)) {}

void RecordsFile::create() {
  // What lies at that name is not written to, be it a link to some other file.
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file_ = UniqueDescriptor(::open(path_.c_str(), flags, 0666));
  if (!file_) fail_records(path_, "open", errno_text(errno));
}

std::int64_t RecordsFile::rows_of_next_frame(std::int64_t most) const {
  std::int64_t num_rows = 0;
  for (std::int64_t bytes = kFrameHeaderBytes; num_rows < most; ++num_rows) {
    bytes += log_.bytes_of_row(num_rows) + retained_.bytes_of_row(num_rows);
    if (bytes > kMostFrameBytes) break;
  }
  return std::max<std::int64_t>(1, num_rows);
}

// Writes a frame of the next of `samples`, and returns how many these are.
std::int64_t RecordsFile::write_frame(plan::SampleRange samples,
                                      const predictions::PredictionLog& log,
                                      const predictions::PredictionLog& retained,
                                      std::int64_t& offset) {
  const std::int64_t most = std::min(samples.count, kMostFrameRows);
  log_.load_lengths(log, most);
  retained_.load_lengths(retained, most);
  const std::int64_t num_rows = rows_of_next_frame(most);
  std::vector<std::byte> frame(to_size(kFrameHeaderBytes));
  log_.take(log, num_rows, frame);
  retained_.take(retained, num_rows, frame);
  fill_in_header({samples.first, num_rows}, frame);
  const std::string problem = write_at(file_.get(), offset, frame);
  if (!problem.empty()) fail_records(path_, "write", problem);
  offset += std::ssize(frame);
  return num_rows;
}

void RecordsFile::append(plan::SampleRange samples, const predictions::PredictionLog& log,
                         const predictions::PredictionLog& retained, std::int64_t row) {
  if (!has_columns() || samples.count == 0) return;
  if (!file_) create();
  log_.seek(log, row);
  retained_.seek(retained, row);
  // What a failure leaves behind bytes_ is overwritten by the next frame.
  std::int64_t offset = bytes_;
  while (samples.count > 0) {
    const std::int64_t num_rows = write_frame(samples, log, retained, offset);
    samples = {samples.first + num_rows, samples.count - num_rows};
  }
  bytes_ = offset;
}

void RecordsFile::sync(int descriptor) {
  // After a failure the system may have dropped what it could not write, so that a later success
  // would say nothing of these bytes.
  if (is_broken_) fail_records(path_, "fdatasync", "an earlier one has failed");
  if (::fdatasync(descriptor) == 0) return;
  const int error = errno;
  is_broken_ = true;
  fail_records(path_, "fdatasync", errno_text(error));
}

}  // namespace tally::resume
