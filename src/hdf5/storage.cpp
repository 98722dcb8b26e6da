// SPDX-License-Identifier: Apache-2.0
#include "storage.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "types_and_spaces.hpp"

namespace tally::hdf5 {
namespace {

// Deflate shrinks at most 1032 times: two codes of one bit each, a length and a distance, stand for
// 258 bytes (RFC 1951). A file cannot hold more than this many times its own size.
constexpr std::int64_t kMaxInflation = 1100;

// A chunk is decoded whole, by several threads and ranks at a time, and zeros deflate to a
// thousandth: without this limit a file of 4 MB could ask for 4 GiB at once. It is also what the
// caches of decoded chunks may hold.
constexpr std::int64_t kMaxChunkBytes = std::int64_t{256} << 20;

Properties creation_properties(hid_t dataset, const Subject& subject, std::string_view path) {
  return Properties(check(H5Dget_create_plist(dataset), subject, path, "examined"));
}

// Returns an empty name for a filter that is refused. Most others need plugins, which
// lock_library() switches off.
std::string_view known_filter(H5Z_filter_t id) {
  switch (id) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    default:
      return {};
  }
}

struct Filters {
  std::vector<std::string> names;
  std::int64_t shuffled_bytes = 0;
};

// Throws for a filter that is unknown or that this build of HDF5 lacks.
Filters known_filters(hid_t properties, const Subject& subject, std::string_view path) {
  Filters filters;
  const int num_filters = check(H5Pget_nfilters(properties), subject, path, "examined");
  for (unsigned i = 0; i < static_cast<unsigned>(num_filters); ++i) {
    unsigned flags = 0, config = 0, value = 0;
    // One value is enough: that of shuffle is the size of an element. HDF5 puts the number that
    // there are into num_values.
    std::size_t num_values = 1;
    char label[64] = "";
    const H5Z_filter_t id = check(
        H5Pget_filter2(properties, i, &flags, &num_values, &value, sizeof label, label, &config),
        subject, path, "examined");
    const std::string_view filter = known_filter(id);
    if (filter.empty()) {
      fail(subject, path,
           format("uses the HDF5 filter {} ('{}'), expected none, deflate, shuffle "
                  "or fletcher32",
                  id, printable(label)),
           "Rewrite it, for example with 'h5repack -f NONE'.");
    }
    if (H5Zfilter_avail(id) <= 0) {
      fail(subject, path, format("uses the filter {}, which this HDF5 library lacks", filter),
           "Rewrite it, for example with 'h5repack -f NONE'.");
    }
    filters.names.emplace_back(filter);
    if (id == H5Z_FILTER_SHUFFLE) filters.shuffled_bytes = num_values > 0 ? value : 0;
  }
  return filters;
}

Shape extent(hid_t dataset, const Subject& subject, std::string_view path) {
  const Space space(check(H5Dget_space(dataset), subject, path, "examined"));
  auto shape = shape_of(space.get());
  if (!shape) fail(subject, path, "has no extent");
  return std::move(*shape);
}

// Returns none where the product does not fit into int64: sizes come from the file.
std::optional<std::int64_t> product(const Shape& shape, std::int64_t factor) {
  std::int64_t bytes = factor;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

// Holds what the checks below need for their messages.
struct Holder {
  hid_t dataset;
  const Subject& subject;
  std::string_view path;
  std::int64_t file_bytes;

  [[noreturn]] void too_large(std::string_view declared) const {
    fail(subject, path,
         format("declares {} bytes, more than a file of {} bytes can hold", declared, file_bytes),
         "The file is damaged or was not written to its end.");
  }
};

// Sets info.offset, by which rows are read past HDF5: they must lie inside the file.
void check_contiguous(const Holder& holder, DatasetInfo& info, std::int64_t bytes) {
  const haddr_t offset = H5Dget_offset(holder.dataset);
  if (offset == HADDR_UNDEF) {
    fail(holder.subject, holder.path, "has no storage: its rows were never written");
  }
  // An offset that does not fit leaves info.offset at -1, which is refused as well.
  if (std::in_range<std::int64_t>(offset)) info.offset = static_cast<std::int64_t>(offset);
  if (info.offset < 0 || info.offset > holder.file_bytes - bytes) {
    holder.too_large(format("{}", bytes));
  }
}

void check_chunks(const Holder& holder, DatasetInfo& info, std::int64_t bytes,
                  std::int64_t element_bytes, hid_t properties) {
  // Chunks that the dataset's edge cuts may be left unfiltered; ChunkDecoder leaves such files to
  // HDF5.
  unsigned options = 0;
  check(H5Pget_chunk_opts(properties, &options), holder.subject, holder.path, "examined");
  info.edges_filtered = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  // Without deflate stored chunks are not shorter than their elements, so the file must hold all of
  // them.
  const bool deflated = std::ranges::count(info.filters, "deflate") > 0;
  const std::int64_t limit = (deflated ? kMaxInflation : 1) * holder.file_bytes;
  if (bytes > limit) holder.too_large(format("{}", bytes));

  hsize_t sizes[H5S_MAX_RANK];
  const int rank =
      check(H5Pget_chunk(properties, H5S_MAX_RANK, sizes), holder.subject, holder.path, "examined");
  for (std::size_t d = 0; d < to_size(rank); ++d) {
    info.chunk_shape.push_back(checked_cast<std::int64_t>(sizes[d]));
  }
  // A chunk may be larger than the dataset, and is allocated whole.
  const auto chunk_bytes = product(info.chunk_shape, element_bytes);
  if (!chunk_bytes || *chunk_bytes > limit) holder.too_large("chunks of too many");
  if (*chunk_bytes > kMaxChunkBytes) {
    fail(holder.subject, holder.path,
         format("has chunks of {} bytes, expected at most {}", *chunk_bytes, kMaxChunkBytes),
         "Rewrite it, for example with 'h5repack -l CONTI'.");
  }

  // HDF5 gives fill values for chunks that are missing, which would be counted as samples.
  const Space space(check(H5Dget_space(holder.dataset), holder.subject, holder.path, "examined"));
  hsize_t present = 0;
  check(H5Dget_num_chunks(holder.dataset, space.get(), &present), holder.subject, holder.path,
        "examined");
  const std::int64_t expected = num_elements(info.chunk_grid());
  if (!std::cmp_equal(present, expected)) {
    fail(holder.subject, holder.path,
         format("holds {} of {} chunks: some rows were never written", present, expected));
  }
}

// HDF5 1.10 reads as many bytes as the extent asks for, whatever it holds.
void check_compact(const Holder& holder, std::int64_t bytes) {
  const hsize_t stored = H5Dget_storage_size(holder.dataset);
  if (std::cmp_equal(stored, bytes)) return;
  fail(holder.subject, holder.path, format("holds {} bytes, expected {}", stored, bytes),
       "The file is damaged.");
}

void check_size(const Holder& holder, DatasetInfo& info, hid_t type, hid_t properties) {
  const auto element_bytes = checked_cast<std::int64_t>(H5Tget_size(type));
  const auto bytes = product(info.shape, element_bytes);
  if (!bytes) holder.too_large("more than 2^63");
  // A dataset without elements has no storage that could be checked.
  if (*bytes == 0) return;
  switch (info.storage) {
    case Storage::contiguous:
      return check_contiguous(holder, info, *bytes);
    case Storage::chunked:
      return check_chunks(holder, info, *bytes, element_bytes, properties);
    case Storage::compact:
      return check_compact(holder, *bytes);
  }
}

Storage storage_of(H5D_layout_t layout, const Subject& subject, std::string_view path) {
  switch (layout) {
    case H5D_CONTIGUOUS:
      return Storage::contiguous;
    case H5D_CHUNKED:
      return Storage::chunked;
    case H5D_COMPACT:
      return Storage::compact;
    default:
      fail(subject, path, "has a storage layout that is not known");
  }
}

}  // namespace

void refuse_foreign_storage(hid_t dataset, const Subject& subject, std::string_view path) {
  const Properties properties = creation_properties(dataset, subject, path);
  if (H5Pget_layout(properties.get()) == H5D_VIRTUAL) {
    fail(subject, path, "is a virtual dataset, which is refused",
         "Store the data in the file itself.");
  }
  if (check(H5Pget_external_count(properties.get()), subject, path, "examined") > 0) {
    fail(subject, path, "keeps its data in external storage, which is refused",
         "Store the data in the file itself.");
  }
  // The result is not needed, only that no filter is refused.
  known_filters(properties.get(), subject, path);
}

DatasetInfo examine(hid_t dataset, const Subject& subject, std::string_view path,
                    std::int64_t file_bytes) {
  // This comes first: asking a virtual dataset for its extent opens other files.
  refuse_foreign_storage(dataset, subject, path);
  const Properties properties = creation_properties(dataset, subject, path);
  const Type type(check(H5Dget_type(dataset), subject, path, "examined"));
  const std::optional<Element> element = element_of_type(type.get());
  if (!element) {
    fail(subject, path,
         format("holds {} elements, expected little-endian integers or floats",
                describe_type(type.get())),
         subject.next_step);
  }
  DatasetInfo info;
  info.path = path;
  info.element = *element;
  info.shape = extent(dataset, subject, path);
  info.storage = storage_of(H5Pget_layout(properties.get()), subject, path);
  Filters filters = known_filters(properties.get(), subject, path);
  info.filters = std::move(filters.names);
  info.shuffled_bytes = filters.shuffled_bytes;
  check_size({dataset, subject, path, file_bytes}, info, type.get(), properties.get());
  return info;
}

}  // namespace tally::hdf5
