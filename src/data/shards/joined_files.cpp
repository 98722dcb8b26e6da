// SPDX-License-Identifier: Apache-2.0
#include "shards/joined_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/columns.hpp"
#include "schema/identity_hash.hpp"
#include "schema/task_rules.hpp"
#include "shards/joined_info.hpp"
#include "shards/shard_index.hpp"

namespace tally::data {

JoinedFiles::JoinedFiles(const std::filesystem::path& path, Targets targets) {
  if (path.extension() == ".json") {
    open_shards(path, targets);
    join();
  } else {
    info_ = files_.emplace_back(path, targets).info();
  }
}

namespace {

// All files stay open, each with a descriptor of HDF5 and one of its reader, and `tally score`
// opens a data set twice. The usual limit of a process is 1,024 of them, which it may raise by
// itself.
void allow_open_files(const std::filesystem::path& path, std::size_t num_files) {
  constexpr rlim_t kEach = 4, kOthers = 256;
  const rlim_t wanted = kEach * num_files + kOthers;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= kEach * num_files) return;
  throw_dataset_error(path, "",
                      format("has {} files, but this system allows {} open files (ulimit -Hn)",
                             num_files, limit.rlim_max),
                      "Prepare fewer and larger ones.");
}

}  // namespace

DataFile& JoinedFiles::open_shard(const std::filesystem::path& index,
                                  const std::filesystem::path& file, Targets targets) try {
  return files_.emplace_back(file, targets);
} catch (const Error& error) {
  throw error_of_shard(error, index);
}

void JoinedFiles::open_shards(const std::filesystem::path& path, Targets targets) {
  const ShardIndex index = read_shard_index(path);
  allow_open_files(path, index.shards.size());
  files_.reserve(index.shards.size());
  for (const ShardEntry& entry : index.shards) {
    DataFile& file = open_shard(path, entry.file, targets);
    const DataSetInfo& info = file.info();
    const auto refuse = [&](std::string_view problem,
                            std::string_view mend = "Prepare all again.") {
      throw_dataset_error(entry.file, "", problem,
                          format("It is a shard of '{}'. {}", shown(path.string()), mend));
    };
    if (targets == Targets::read && info.task != index.task) {
      refuse(format("is for the task {}, the index for '{}'", info.task, shown(index.task)));
    }
    if (has_units(rules_of(info))) {
      refuse(format("is for the task {}, whose data sets are single files", info.task),
             "Give each of its files by itself.");
    }
    if (info.num_samples != entry.num_samples) {
      refuse(format("has {} samples, the index says {}", info.num_samples, entry.num_samples));
    }
    const std::string other = difference(files_.front().info(), info);
    if (!other.empty()) refuse(format("differs from the shards before it: {}", other));
    // Left out, the targets are no part of what is read, which the index identifies.
    if (entry.identity.empty() || targets == Targets::left_out) continue;
    if (const std::string& found = file.identity(); found != entry.identity) {
      refuse(format("has the identity {}, the index says {}", found, shown(entry.identity)));
    }
  }
  info_ = files_.front().info();
  info_.path = path;
}

namespace {

// In the order of all_columns().
std::vector<ColumnInfo*> columns_of(DataSetInfo& info) {
  std::vector<ColumnInfo*> columns;
  for (auto* list : {&info.columns.inputs, &info.columns.targets, &info.columns.groups}) {
    for (ColumnInfo& column : *list) columns.push_back(&column);
  }
  if (info.columns.lengths) columns.push_back(&*info.columns.lengths);
  for (ColumnInfo& table : info.tables) columns.push_back(&table);
  return columns;
}

}  // namespace

// Of a table that is the same in all files.
void JoinedFiles::require_same_rows(const ColumnInfo& column) {
  const auto rows_of = [&](DataFile& file) {
    std::vector<std::byte> rows(to_size(column.num_rows * column.row_bytes()));
    file.read_rows(column, 0, column.num_rows, rows, RowCheck::values);
    return rows;
  };
  const auto expected = rows_of(files_.front());
  for (DataFile& file : files_) {
    if (rows_of(file) == expected) continue;
    throw_dataset_error(
        file.info().path, column.path, "differs from that of the shards before it",
        format("It is a shard of '{}'. Prepare all again.", shown(info_.path.string())));
  }
}

// Files that do not differ have the same columns in the same order.
void JoinedFiles::join() {
  info_.num_samples = info_.file_bytes = 0;
  for (const DataFile& file : files_) {
    const DataSetInfo& info = file.info();
    info_.shards.push_back({info.path, info.num_samples});
    info_.num_samples += info.num_samples;
    info_.file_bytes += info.file_bytes;
    info_.checksums.columns = info_.checksums.columns && info.checksums.columns;
    info_.checksums.structure = info_.checksums.structure && info.checksums.structure;
  }
  const auto joined = columns_of(info_);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    ColumnInfo& column = *joined[i];
    const TableJoin how = join_of(column.path);
    if (how == TableJoin::shared) {
      require_same_rows(column);
      continue;
    }
    // The last offset of each file is the first of the next one.
    const std::int64_t shared_rows = how == TableJoin::offsets ? 1 : 0;
    std::vector<std::int64_t>& begins = begins_[column.path] = {0};
    for (const DataFile& file : files_) {
      const ColumnInfo& part = *all_columns(file.info())[i];
      begins.push_back(begins.back() + part.num_rows - shared_rows);
      if (part.rows_per_checksum == 0) column.rows_per_checksum = 0;
    }
    column.num_rows = begins.back() += shared_rows;
  }
}

namespace {

// Calls use(part, rows of it) for the parts between begins[i] and begins[i + 1] of `rows`.
template <class Use>
void for_each_part(const std::vector<std::int64_t>& begins, plan::SampleRange rows,
                   const Use& use) {
  const auto behind = std::ranges::upper_bound(begins, rows.first);
  auto part = to_size(behind - begins.begin() - 1);
  for (std::int64_t row = rows.first; row < rows.end(); ++part) {
    const std::int64_t end = std::min(rows.end(), begins[part + 1]);
    if (end > row) use(part, plan::SampleRange{row - begins[part], end - row});
    row = std::max(row, end);
  }
}

}  // namespace

void JoinedFiles::read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                            std::span<std::byte> out, RowCheck check) {
  const TableJoin how = join_of(column.path);
  if (files_.size() == 1 || how == TableJoin::shared) {
    return files_.front().read_rows(column, first, count, out, check);
  }
  if (first < 0 || count < 0 || first > column.num_rows - count) {
    throw Error(ErrorKind::internal,
                format("rows {} + {} of {} were asked for", first, count, column.path));
  }
  std::int64_t done = 0;
  for_each_part(begins_.find(column.path)->second, {first, count},
                [&](std::size_t shard, plan::SampleRange rows) {
                  const auto place = out.subspan(to_size(done * column.row_bytes()));
                  done += rows.count;
                  if (how == TableJoin::offsets) return read_offsets(column, shard, rows, place);
                  forget_files_before(shard);
                  files_[shard].read_rows(column, rows.first, rows.count, place, check);
                });
}

// What files keep for the next read adds up. Threads that read ahead may still be in the file
// before the furthest.
void JoinedFiles::forget_files_before(std::size_t shard) {
  std::size_t seen = furthest_;
  if (shard <= seen || !furthest_.compare_exchange_strong(seen, shard)) return;
  for (std::size_t i = seen > 0 ? seen - 1 : 0; i + 1 < shard; ++i) files_[i].forget_samples();
}

void JoinedFiles::read_offsets(const ColumnInfo& column, std::size_t shard, plan::SampleRange rows,
                               std::span<std::byte> out) {
  const DataFile& file = files_[shard];
  const std::string values = values_of(column.path);
  // With the one behind them, which at the end of a file says that its values are all used.
  const std::int64_t count = std::min(rows.count + 1, file.info().num_samples + 1 - rows.first);
  std::vector<std::int64_t> offsets(to_size(count));
  files_[shard].read_rows(column, rows.first, count, std::as_writable_bytes(std::span(offsets)),
                          RowCheck::values);
  check_offsets(file.info(), file.info().table(column.path), file.info().table(values), rows.first,
                offsets);
  const std::int64_t base = begins_.find(values)->second[shard];
  for (std::int64_t& offset : offsets) offset += base;
  std::memcpy(out.data(), offsets.data(), to_size(rows.count) * sizeof(std::int64_t));
}

void JoinedFiles::leave_inputs_out() {
  for (DataFile& file : files_) file.leave_inputs_out();
}

void JoinedFiles::for_each_file(plan::SampleRange samples, const UseSamples& use) {
  if (files_.size() == 1) return use(files_.front(), samples);
  std::vector<std::int64_t> begins{0};
  for (const Shard& shard : info_.shards) begins.push_back(begins.back() + shard.num_samples);
  for_each_part(begins, samples,
                [&](std::size_t shard, plan::SampleRange part) { use(files_[shard], part); });
}

void JoinedFiles::expect(plan::SampleRange samples, int threads) {
  for_each_file(samples,
                [&](DataFile& file, plan::SampleRange part) { file.expect(part, threads); });
}

std::int64_t JoinedFiles::staged_bytes(plan::SampleRange samples) {
  std::int64_t bytes = 0;
  for_each_file(samples,
                [&](DataFile& file, plan::SampleRange part) { bytes += file.staged_bytes(part); });
  return bytes;
}

void JoinedFiles::stage(const std::shared_ptr<StagedFile>& copy, plan::SampleRange samples) {
  for_each_file(samples, [&](DataFile& file, plan::SampleRange part) { file.stage(copy, part); });
}

void JoinedFiles::require_unchanged() const {
  for (const DataFile& file : files_) file.require_unchanged();
}

std::string JoinedFiles::stamp() const {
  if (files_.size() == 1) return files_.front().stamp();
  digest::Sha256 stamps;
  for (const DataFile& file : files_) stamps.update(file.stamp() + "\n");
  return format("{} files whose stamps have the SHA-256 {}", files_.size(), stamps.hex());
}

std::int64_t JoinedFiles::bytes_read() const {
  std::int64_t bytes = 0;
  for (const DataFile& file : files_) bytes += file.bytes_read();
  return bytes;
}

std::string JoinedFiles::identity() {
  if (files_.size() == 1) return files_.front().identity();
  IdentityHash hash;
  for (DataFile& file : files_) hash.add("shard", file.identity());
  return hash.hex();
}

std::optional<std::string> JoinedFiles::sample_identity() {
  if (files_.size() == 1) return files_.front().sample_identity();
  IdentityHash hash;
  for (DataFile& file : files_) {
    const auto samples = file.sample_identity();
    if (!samples) return std::nullopt;
    hash.add("shard", *samples);
  }
  return hash.hex();
}

}  // namespace tally::data
