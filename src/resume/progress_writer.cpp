// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/thread_name.hpp>
#include <tally/resume/progress_files.hpp>

#include "part_files.hpp"
#include "records_file.hpp"
#include "state_file.hpp"

namespace tally::resume {
namespace {

namespace fs = std::filesystem;

void create_missing_folder(const fs::path& folder) {
  std::error_code problem;
  const bool is_new = fs::create_directory(folder, problem);
  if (problem) {
    throw Error(ErrorKind::output,
                format("cannot write '{}' (mkdir: {})", printable(folder.string()),
                       errno_text(problem.value())),
                "Check the folder's permissions and free space.");
  }
  if (is_new) sync_folder(folder.has_parent_path() ? folder.parent_path() : fs::path("."));
}

}  // namespace

struct ProgressWriter::Impl {
  Impl(fs::path in, PartName of, RecordColumns columns, bool is_expected)
      : folder(std::move(in)),
        part(of),
        records(folder / records_name(of), std::move(columns)),
        has_folder(is_expected) {}

  void require_folder();
  void wait_and_throw();
  Progress completed(Progress progress);
  void write(const Progress& progress, int records_descriptor);

  fs::path folder;
  PartName part;
  RecordsFile records;
  bool has_folder;
  std::int64_t sequence = 0;
  int next_generation = 0;
  std::exception_ptr failure;  // of the worker
  std::atomic<bool> is_busy = false;
  std::atomic<bool> is_on_disk = false;
  std::jthread worker;  // the last member, because it uses the others until it has ended
};

void ProgressWriter::Impl::require_folder() {
  if (has_folder) return;
  create_missing_folder(folder);
  has_folder = true;
}

void ProgressWriter::Impl::wait_and_throw() {
  if (worker.joinable()) worker.join();
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
}

Progress ProgressWriter::Impl::completed(Progress progress) {
  progress.part = part;
  progress.sequence = ++sequence;
  progress.records_bytes = records.bytes();
  if (!is_consistent(progress)) {
    throw Error(ErrorKind::internal, "progress: ranges of batches or ranks are not in order");
  }
  return progress;
}

void ProgressWriter::Impl::write(const Progress& progress, int records_descriptor) {
  if (progress.records_bytes > 0) records.sync(records_descriptor);
  write_state_file(folder / state_name(part, next_generation), progress);
  // A write that fails is made up for at the same name: the other one may be the only whole one.
  next_generation = (next_generation + 1) % kNumGenerations;
  is_on_disk = true;
}

ProgressWriter::ProgressWriter(fs::path folder, PartName part, RecordColumns columns, Folder use)
    : impl_(std::make_unique<Impl>(std::move(folder), part, std::move(columns),
                                   use == Folder::expected)) {}

ProgressWriter::~ProgressWriter() = default;

void ProgressWriter::create_folder() { impl_->require_folder(); }

void ProgressWriter::append(plan::SampleRange samples, const predictions::PredictionLog& log,
                            const predictions::PredictionLog& retained, std::int64_t row) {
  Impl& impl = *impl_;
  if (!impl.is_busy) impl.wait_and_throw();
  if (samples.count == 0 || !impl.records.has_columns()) return;
  impl.require_folder();
  impl.records.append(samples, log, retained, row);
}

bool ProgressWriter::is_busy() const { return impl_->is_busy; }

bool ProgressWriter::is_on_disk() const { return impl_->is_on_disk; }

void ProgressWriter::write_now(Progress progress) {
  impl_->wait_and_throw();
  impl_->require_folder();
  impl_->write(impl_->completed(std::move(progress)), impl_->records.descriptor());
}

void ProgressWriter::write_later(Progress progress) {
  Impl& impl = *impl_;
  impl.wait_and_throw();
  impl.require_folder();
  // The worker gets what append() may change meanwhile as values.
  auto work = [&impl, written = impl.completed(std::move(progress)),
               descriptor = impl.records.descriptor()] {
    name_thread("tally-progress");
    try {
      impl.write(written, descriptor);
    } catch (...) {
      impl.failure = std::current_exception();
    }
    impl.is_busy = false;
  };
  impl.is_busy = true;
  try {
    impl.worker = std::jthread(std::move(work));
  } catch (const std::system_error& error) {
    impl.is_busy = false;
    throw Error(ErrorKind::environment, format("cannot start a thread ({})", error.what()));
  }
}

}  // namespace tally::resume
