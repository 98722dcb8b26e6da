// SPDX-License-Identifier: Apache-2.0
#include <tally/data/add_checksums.hpp>

#include <unistd.h>

#include <filesystem>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/data/data_set.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/writer.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/checksums.hpp"
#include "schema/columns.hpp"
#include "schema/schema.hpp"

namespace tally::data {
namespace {

namespace fs = std::filesystem;

// The file beside the target is removed by the destructor unless it was published, that is,
// renamed.
class TemporaryCopy {
 public:
  TemporaryCopy(const fs::path& source, const fs::path& target) : path_(partial_path(target)) {
    std::error_code error;
    // A file that was there before is not ours, so it is neither overwritten nor removed.
    const bool exists = is_there(path_);
    if (exists || !fs::copy_file(source, path_, error)) {
      const std::string reason = error ? error.message() : "it exists";
      if (!exists) ::unlink(path_.c_str());  // what was copied until the disk was full
      throw Error(ErrorKind::output, format("cannot write '{}' ({})", path_.string(), reason),
                  "Check the folder's permissions and free space.");
    }
    // The source may be write-protected; its tables are added to the copy.
    fs::permissions(path_, fs::perms::owner_write, fs::perm_options::add, error);
  }
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;
  ~TemporaryCopy() { ::unlink(path_.c_str()); }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void add_table(DataSet& source, const ColumnInfo& column, hdf5::Writer& file) {
  const std::int64_t rows = default_rows_per_block(column.row_bytes());
  std::vector<std::uint32_t> crcs;
  // Pieces are whole blocks but for the last one, so no block lies in two pieces.
  for_each_piece(source, column, rows, [&](std::int64_t, std::span<const std::byte> bytes) {
    const std::size_t block_bytes = to_size(rows * column.row_bytes());
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
      crcs.push_back(digest::crc32c(bytes.subspan(at, std::min(block_bytes, bytes.size() - at))));
    }
  });
  const std::string path = format("{}{}", kChecksums, column.path);
  file.write(path, {checked_cast<std::int64_t>(crcs.size())}, crcs);
  file.set_attribute(path, "rows_per_block", rows);
}

// The digest is added after the tables, because these decide which objects it covers.
void add_digest(const fs::path& source, const fs::path& copy) {
  const auto paths = covered_paths(hdf5::Reader(copy));
  const std::string digest = structure_digest(hdf5::Reader(source), paths);
  hdf5::Writer file(copy, hdf5::Writer::Mode::extend);
  file.set_attribute(kChecksums, kStructureDigest, digest);
  file.close();
}

}  // namespace

void add_checksums(const fs::path& source, const fs::path& target) {
  if (is_shard_index(source)) {
    throw_dataset_error(source, "", "is an index of several files",
                        "Add checksums to each of them, and write another index.");
  }
  if (is_there(target)) {
    throw Error(ErrorKind::output, format("'{}' exists already", target.string()),
                "Choose another name for the checked copy.");
  }
  // Opening the source compares its own digest, and reading the copy below compares the tables that
  // the source has: damage must not become valid.
  DataSet original(source);
  const TemporaryCopy copy(source, target);
  hdf5::Writer file(copy.path(), hdf5::Writer::Mode::extend);
  for (const ColumnInfo* column : all_columns(original.info())) {
    // A table that is there stays as it is, with its own size of blocks.
    if (column->rows_per_checksum == 0) add_table(original, *column, file);
  }
  file.close();
  add_digest(source, copy.path());
  // Sums and digest are the source's: opening and reading the copy against them compares the two.
  DataSet written(copy.path());
  for (const ColumnInfo* column : all_columns(written.info())) {
    for_each_piece(written, *column, column->rows_per_checksum, [](std::int64_t, auto) {});
  }
  // The rename comes last: no reader sees a copy that was not compared and synced.
  original.require_unchanged();
  sync_file(copy.path());
  publish_new_file(copy.path(), target);
}

}  // namespace tally::data
