// SPDX-License-Identifier: Apache-2.0
// Appends records to a part's file of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include <tally/base/files.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/resume/progress_files.hpp>

#include "log_rows.hpp"

namespace tally::resume {

class RecordsFile {
 public:
  RecordsFile(std::filesystem::path path, RecordColumns columns);

  // Whether a frame of these columns has anything in it.
  bool has_columns() const { return log_.has_columns() || retained_.has_columns(); }
  // As ProgressWriter::append(). Creates the file where it is missing; Error(output) where one is
  // there that is not this object's.
  void append(plan::SampleRange samples, const predictions::PredictionLog& log,
              const predictions::PredictionLog& retained, std::int64_t row);
  // Of all frames that were appended.
  std::int64_t bytes() const { return bytes_; }
  // What sync() needs; -1 where nothing was appended yet.
  int descriptor() const { return file_.get(); }
  // Returns when what was appended is on the disk. May run beside append(). Error(output).
  void sync(int descriptor);

 private:
  std::int64_t write_frame(plan::SampleRange samples, const predictions::PredictionLog& log,
                           const predictions::PredictionLog& retained, std::int64_t& offset);
  std::int64_t rows_of_next_frame(std::int64_t most) const;
  void create();

  std::filesystem::path path_;
  LogRows log_;
  LogRows retained_;
  UniqueDescriptor file_;
  std::int64_t bytes_ = 0;
  std::atomic<bool> is_broken_ = false;  // a sync has failed
};

}  // namespace tally::resume
