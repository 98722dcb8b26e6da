// SPDX-License-Identifier: Apache-2.0
// Opens HDF5 files for reading, without trust in what they hold, and says what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/hdf5/dataset.hpp>
#include <tally/hdf5/element.hpp>

namespace tally::hdf5 {

// What a file says of its objects besides their elements, in a form that does not depend on how it
// is stored: what a digest of a file's structure is made of.
enum class ObjectKind { group, dataset, other };

struct AttributeContent {
  std::string name;
  // "integer", "float" or "string"; "other": neither shape nor bytes are given.
  std::string_view kind = "other";
  Shape shape;
  // Row-major and little-endian: integers as int64, those without a sign as uint64, floats as
  // float64; of each string its length in bytes as uint64 and these, without what fills it up.
  std::vector<std::byte> bytes;
};

struct ObjectContent {
  ObjectKind kind = ObjectKind::other;
  // Of a dataset: name(Element), "other" for elements that are not read; else empty.
  std::string_view element;
  Shape shape;                               // of a dataset that has an extent
  std::vector<AttributeContent> attributes;  // ascending by the bytes of their names
};

// An HDF5 file opened for reading, with distrust: only hard links, only standard element types,
// only storage inside the file, only filters that are known, no size the file cannot hold.
//
// Every function throws Error(kind) with one sentence that names the file, the object, what was
// found and what was expected. Paths are absolute ("/inputs/image"). Calls from several threads are
// serialised by one lock of this room, because HDF5 may be built without thread safety; rows of
// contiguous datasets are read without it, past HDF5.
class Reader {
 public:
  // Opens read-only, without file locks and without filter plugins. `what` begins the messages:
  // "data set 'val.h5' …". A missing, empty, truncated or foreign file gets its own message.
  // `next_step`, a constant, ends those about what is there but is not as expected.
  explicit Reader(const std::filesystem::path& path, ErrorKind kind = ErrorKind::dataset,
                  std::string_view what = "data set", std::string_view next_step = {});
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  const std::filesystem::path& path() const;
  std::int64_t file_bytes() const;
  // Throws "… changed while it was read" where the file that was opened has been written to since,
  // or cut. One that was renamed, removed or replaced by another of its name goes on being read.
  void require_unchanged() const;
  // "38274 bytes, written 2026-01-31 12:00:00.123456789 UTC, inode 4711": as the file was when it
  // was opened. Processes of one node that opened the same file have the same text.
  std::string stamp() const;

  // Walks the whole file and refuses soft, external and user-defined links, external storage,
  // virtual layouts and unknown filters, wherever they are. The other calls check only what they
  // touch.
  void refuse_indirections() const;
  // Absolute paths of all groups and datasets but the root, ascending. Links as above.
  std::vector<std::string> all_paths() const;

  // Whether `path` is there. A link on the way that is not a hard link is refused by name.
  bool exists(std::string_view path) const;
  ObjectKind kind_of(std::string_view path) const;
  // What an object says of itself besides its elements. Call refuse_indirections() before.
  ObjectContent content_of(std::string_view path) const;
  // Names in a group, ascending by byte.
  std::vector<std::string> children(std::string_view group) const;

  // Opens and checks a dataset; see the top of this file.
  Dataset dataset(std::string_view path) const;

  // Attributes of a group or dataset ("/" is the root); reading a missing one throws.
  std::vector<std::string> attribute_names(std::string_view object) const;
  bool has_attribute(std::string_view object, std::string_view attribute) const;
  // Any integer type whose value fits.
  std::int64_t int64_attribute(std::string_view object, std::string_view attribute) const;
  // The same of one dimension (a scalar counts as one value).
  std::vector<std::int64_t> int64s_attribute(std::string_view object,
                                             std::string_view attribute) const;
  // float32 or float64.
  double double_attribute(std::string_view object, std::string_view attribute) const;
  // float32 or float64, one dimension (a scalar counts as one value).
  std::vector<double> doubles_attribute(std::string_view object, std::string_view attribute) const;
  // A scalar string of fixed or variable length.
  std::string string_attribute(std::string_view object, std::string_view attribute) const;
  // For people: the value of an attribute of any kind, or what kind it is.
  std::string attribute_text(std::string_view object, std::string_view attribute) const;

 private:
  friend void read_metadata(const std::filesystem::path& path, std::string_view what);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::hdf5
