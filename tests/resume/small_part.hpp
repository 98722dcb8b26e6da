// SPDX-License-Identifier: Apache-2.0
// A part of a run whose records are a function of the sample, so that they can be made once more
// and compared.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/resume/progress_files.hpp>

namespace tally::resume {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "tally-resume-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Not by truncating first, after which some file systems wait for the disk.
inline void put_bytes(const std::filesystem::path& path, const std::string& bytes) {
  const UniqueDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  ASSERT_TRUE(file) << path;
  ASSERT_EQ(write_at(file.get(), 0, as_bytes(bytes)), "");
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes.size())), 0);
}

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// All that a Progress says, to be compared.
inline std::string text_of(const Progress& progress) {
  std::string done;
  for (const auto& range : progress.done) done += format(" {}+{}", range.first, range.count);
  return format("{}.{} of {}, '{}', '{}', write {}, done{}, state {}, records {}",
                progress.part.attempt, progress.part.rank, progress.world_size, progress.identity,
                progress.observations, progress.sequence, done, fmt::join(progress.state, " "),
                progress.records_bytes);
}

inline std::string text_of(const std::optional<Progress>& progress) {
  return progress ? text_of(*progress) : "none";
}

// Fixed rows and ragged ones, of one element and of several.
inline RecordColumns all_sorts_of_columns() {
  return {.log = {{"label", DType::i64, {}},
                  {"answer", DType::u8, {}, true},
                  {"probabilities", DType::f32, {3}}},
          .retained = {{"boxes", DType::f32, {4}, true}, {"loss", DType::f64, {}}}};
}

// Rows of ragged columns have up to `longest` elements.
inline predictions::RecordBatch records_of(const std::vector<predictions::ColumnSpec>& columns,
                                           plan::SampleRange samples, std::int64_t longest = 4) {
  predictions::RecordBatch records;
  if (columns.empty()) return records;
  records.num_rows = samples.count;
  records.columns.resize(columns.size());
  records.lengths.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::int64_t sample = samples.first; sample < samples.end(); ++sample) {
      const std::int64_t key = sample * 7 + static_cast<std::int64_t>(c) * 3;
      const std::int64_t length = columns[c].ragged ? key % (longest + 1) : 1;
      if (columns[c].ragged) records.lengths[c].push_back(length);
      for (std::int64_t i = 0; i < length * columns[c].row_bytes(); ++i) {
        records.columns[c].push_back(static_cast<std::byte>(key * 31 + i * 5));
      }
    }
  }
  return records;
}

// The two logs of a rank, and the writer of its part.
class SmallPart {
 public:
  explicit SmallPart(const std::filesystem::path& folder,
                     RecordColumns columns = all_sorts_of_columns(), PartName part = {},
                     std::int64_t longest = 4)
      : log(columns.log, folder, std::int64_t{64} << 20),
        retained(columns.retained, folder, std::int64_t{64} << 20),
        writer(folder, part, columns),
        longest_(longest) {}

  // Logs the records of samples, and returns the row of the first of them.
  std::int64_t log_records(plan::SampleRange samples) {
    if (!log.columns().empty()) log.append(records_of(log.columns(), samples, longest_));
    if (!retained.columns().empty()) {
      retained.append(records_of(retained.columns(), samples, longest_));
    }
    return std::exchange(rows_, rows_ + samples.count);
  }
  void evaluate(plan::SampleRange samples) {
    const std::int64_t row = log_records(samples);
    writer.append(samples, log, retained, row);
  }
  // One number of the state says which write it was.
  Progress progress() {
    return {.world_size = 3, .identity = "id", .done = {{0, 1}}, .state = {++writes_, -1}};
  }

  predictions::PredictionLog log;
  predictions::PredictionLog retained;
  ProgressWriter writer;

 private:
  std::int64_t longest_;
  std::int64_t rows_ = 0;
  std::int64_t writes_ = 0;
};

inline void append_rows(const predictions::RecordBatch& more, predictions::RecordBatch& all) {
  all.num_rows += more.num_rows;
  all.columns.resize(more.columns.size());
  all.lengths.resize(more.columns.size());
  for (std::size_t c = 0; c < more.columns.size(); ++c) {
    all.columns[c].insert(all.columns[c].end(), more.columns[c].begin(), more.columns[c].end());
    if (c >= more.lengths.size()) continue;
    all.lengths[c].insert(all.lengths[c].end(), more.lengths[c].begin(), more.lengths[c].end());
  }
}

inline void expect_equal(const predictions::RecordBatch& got,
                         const predictions::RecordBatch& expected) {
  EXPECT_EQ(got.num_rows, expected.num_rows);
  EXPECT_TRUE(got.columns == expected.columns);
  EXPECT_TRUE(got.lengths == expected.lengths);
}

// What the reader has of `samples` is what was logged. Returns how many pieces it came in.
inline int expect_records(const RecordsReader& reader, const RecordColumns& columns,
                          plan::SampleRange samples, std::int64_t longest = 4) {
  predictions::RecordBatch log, retained;
  log.columns.resize(columns.log.size());
  log.lengths.resize(columns.log.size());
  retained.columns.resize(columns.retained.size());
  retained.lengths.resize(columns.retained.size());
  int num_pieces = 0;
  reader.read(samples, [&](const auto& log_piece, const auto& retained_piece) {
    append_rows(log_piece, log);
    append_rows(retained_piece, retained);
    ++num_pieces;
  });
  expect_equal(log, records_of(columns.log, samples, longest));
  expect_equal(retained, records_of(columns.retained, samples, longest));
  return num_pieces;
}

}  // namespace tally::resume
