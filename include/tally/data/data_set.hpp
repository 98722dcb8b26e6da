// SPDX-License-Identifier: Apache-2.0
// Opens a data set of one HDF5 file or of several, checks it against the schema
// (data_tools/SCHEMA.md) and reads its rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/image_recipe.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/plan/batch_grid.hpp>

namespace tally::data {

// Attributes of an image input: model input = (u8 * scale - mean) / std per channel.
struct ImageAttributes {
  std::string layout;    // "HWC"
  std::string channels;  // "RGB", "BGR" or "L"
  double scale = 1.0;
  std::vector<double> mean;     // [C]
  std::vector<double> std;      // [C]
  ImageGeometry geometry = {};  // how it was made of image files, where the file says so
  // Of which weights all of this is the recipe, where the file says so.
  std::string recipe_source = {};
  bool operator==(const ImageAttributes&) const = default;
};

// Both ends belong to it.
struct ValueRange {
  std::int64_t least = 0, most = 0;
};

// Of which sign a number may be; it is finite.
enum class Sign { any, not_negative, positive };

// One dataset: of the samples, under /inputs, /targets or /groups, or a table.
struct ColumnInfo {
  std::string path;  // "/inputs/image"
  std::string name;  // "image"
  DType dtype = DType::u8;
  Shape row_shape;  // without the first dimension
  std::int64_t num_rows = 0;
  std::optional<ImageAttributes> image;
  // Of an input whose rows are sequences along their first dimension: what stands behind their end.
  // Of labels that belong to the places of such inputs: ignore_index.
  std::optional<std::int64_t> padding;
  std::optional<ValueRange> range;     // of integers that are counts, or say where something is
  bool is_in_sequence = false;         // of those: no more than the sample's length
  std::vector<Sign> signs;             // of a table of float64: of each number in a row
  std::int64_t rows_per_checksum = 0;  // 0: no checksum table
  std::int64_t row_bytes() const { return size_bytes(dtype) * num_elements(row_shape); }
};

// Datasets with a row for each sample.
struct ColumnsOfSamples {
  // Each in order of name, but of the targets the label is first.
  std::vector<ColumnInfo> inputs, targets, groups;
  std::optional<ColumnInfo> lengths;  // int32 [N]: of each sample's sequences, without padding
};

// What of a file is covered by checksums.
struct ChecksumCoverage {
  bool columns = false;  // every column and table has a checksum table
  // What these do not cover (attributes, names, shapes) has a digest, which was found right.
  bool structure = false;
};

// One of several files of a data set.
struct Shard {
  std::filesystem::path path;
  std::int64_t num_samples = 0;
};

struct DataSetInfo {
  std::filesystem::path path;   // the HDF5 file, or the index of several
  std::int64_t file_bytes = 0;  // of all HDF5 files
  std::vector<Shard> shards;    // in the order of their samples; empty: it is one file
  std::string task;
  std::int64_t num_samples = 0;
  // multilabel: the number of labels; regression: the number of values to be predicted per sample;
  // language-model and multiple-choice: tokens of the vocabulary.
  std::int64_t num_classes = 0;
  // multilabel: marks a single label of a sample, not the sample; regression: never set.
  std::optional<std::int64_t> ignore_index;
  std::vector<std::string> class_names;  // empty or num_classes
  ColumnsOfSamples columns;
  // What is scored, where that is no sample: a question or a document, of whose windows each is a
  // sample, or a question whose choices are samples. 0: every sample is a unit.
  std::int64_t num_units = 0;
  // What else is known of units, or of samples (detection).
  std::vector<ColumnInfo> tables;
  bool no_answer = false;  // question answering: a question may have no answer
  ChecksumCoverage checksums;

  // "checked" where both hold, "columns checked" where the first does, else "unchecked".
  std::string_view integrity() const;
  // Regression: whether labels are maps of numbers, in which NaN stands for a pixel that is not
  // scored.
  bool has_maps() const;
  // One of `tables`, and one of `targets` by its name; Error(internal) for another.
  const ColumnInfo& table(std::string_view path) const;
  const ColumnInfo& target(std::string_view name) const;
};

// Whether a data set's targets are looked at: left out, it is one of the task `predict`, whatever
// it was made for, and may lack targets and what belongs to them.
enum class Targets { read, left_out };

// What read_rows checks besides the checksums.
enum class RowCheck { values, checksums_only };

// What is read in the place of a data set's inputs.
class RowSource;
struct OtherInput {
  std::shared_ptr<RowSource> rows;
  std::int64_t samples_wanted = 0;  // the first ones, if the file lacks others; 0: all
};

// Whether a path is named as the index of several files is by the tools that write one:
// "val.shards.json". As a data set every .json is read as an index.
bool is_shard_index(const std::filesystem::path& path);

// Tries all files of a data set, where this process has an hdf5::FileProbe: for one rank, before
// the others open them. Throws Error(dataset).
void probe_files(const std::filesystem::path& path);

class DataSet {
 public:
  // `path` is an HDF5 file or the index of several, whose samples lie one after the other. Opens
  // read-only without file locks and checks everything that can be checked without reading
  // the rows, the digest of the structure included. Where an index has the identities of its files
  // these are compared, which reads what identity() does. Throws Error(dataset).
  explicit DataSet(const std::filesystem::path& path, Targets targets = Targets::read);
  // The same, but its only input is `other`, without checksums, which has a row for each sample, or
  // for the first ones that are wanted; it has no lengths. Not for identity().
  DataSet(const std::filesystem::path& path, const OtherInput& other);
  DataSet(DataSet&&) noexcept;
  ~DataSet();

  const DataSetInfo& info() const;

  // From now on class i of the file is class numbers[i] of `names`, in info() and in the labels
  // that are read; what the file holds is checked and identified as before. Before any thread
  // reads. Throws Error(dataset) for a task whose labels are no classes, for a set of several
  // labels that has not as many as there are names, and where ignore_index is one of `numbers` or
  // the type of the labels has no room for them.
  void renumber_classes(std::vector<std::int64_t> numbers, std::vector<std::string> names);

  // sha256 over structure, attributes and checksum tables; where a column has no table also every
  // byte of targets, groups, lengths and tables, and the file size; of several files over their
  // identities. Reads what it hashes.
  std::string identity() const;
  // The same for two data sets of the same samples in as many files that were prepared differently:
  // sha256 over the task, the number of samples and the checksum tables of names, targets and what
  // the tables say of units; not of inputs, lengths, groups and where images were placed. None
  // where samples or units have no names, or one of these columns has no table.
  std::optional<std::string> sample_identity() const;

  // Rows [first, first + count) of a column into `out`; rows past the checksum block's edges are
  // read along and checked, then dropped. Labels and places are checked to be in range and values
  // to be finite, unless only checksums are asked for. Throws Error(dataset) naming the column, the
  // row and the value, or saying that the file changed. From several threads at once.
  void read_rows(const ColumnInfo& column, std::int64_t first, std::int64_t count,
                 std::span<std::byte> out, RowCheck check = RowCheck::values);

  // Says that `threads` threads are going to read `samples` of the columns in order, so that chunks
  // which their ranges share are decoded once. Before they begin; without it rows are the same.
  void expect(plan::SampleRange samples, int threads);

  // Bytes that hold `samples` of all columns in the file: as they are compressed, with whole
  // checksum blocks.
  std::int64_t staged_bytes(plan::SampleRange samples) const;
  // Copies them to a file in `folder` that has no name and lives as long as this object: from now
  // on these samples are read from there. How many bytes that were. Throws Error(output) where the
  // folder does not take them; before any thread reads.
  std::int64_t stage(plan::SampleRange samples, const std::filesystem::path& folder);

  // Throws Error(dataset) where the file, or that of the other input, was written to or cut since
  // it was opened: rows may then be of before or after that. Not where another one has its name.
  void require_unchanged() const;
  // The file as it was when it was opened (hdf5::Reader::stamp), with that of the other input.
  std::string stamp() const;

  // Bytes asked of the file so far, checksum edges included.
  std::int64_t bytes_read() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::data
