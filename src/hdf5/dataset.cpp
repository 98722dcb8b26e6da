// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <tally/base/activity.hpp>
#include <tally/base/available_memory.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>

#include "attributes.hpp"
#include "dataset_impl.hpp"
#include "types_and_spaces.hpp"

namespace tally::hdf5 {

Shape DatasetInfo::row_shape() const {
  return shape.empty() ? Shape{} : Shape(shape.begin() + 1, shape.end());
}

std::int64_t DatasetInfo::row_bytes() const {
  return size_bytes(element) * num_elements(row_shape());
}

Shape DatasetInfo::chunk_grid() const {
  Shape grid;
  for (std::size_t d = 0; d < chunk_shape.size(); ++d) {
    // The last chunk along a dimension may reach beyond the dataset; it counts as a whole one.
    grid.push_back((shape.at(d) + chunk_shape[d] - 1) / chunk_shape[d]);
  }
  return grid;
}

Dataset::Dataset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

const DatasetInfo& Dataset::info() const { return impl_->info; }

void Dataset::require_element(Element expected) const {
  if (info().element == expected) return;
  fail(impl_->subject, info().path,
       format("holds {}, expected {}", name(info().element), name(expected)),
       impl_->subject.next_step);
}

void Dataset::require_memory() const {
  const std::int64_t bytes = info().num_rows() * info().row_bytes();
  // Looking at what is left takes longer than reading a little.
  constexpr std::int64_t kLittle = std::int64_t{64} << 20;
  if (bytes <= kLittle) return;
  const auto available = available_memory_bytes();
  if (!available || bytes <= *available) return;
  throw Error(
      ErrorKind::environment,
      format("{} '{}', {} is read at once and has {} bytes; this node has {} bytes of free "
             "memory",
             impl_->subject.what, impl_->subject.path.string(), info().path, bytes, *available));
}

void Dataset::read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  const DatasetInfo& about = info();
  if (about.element == Element::text) {
    fail(impl_->subject, about.path, "holds texts, expected numbers", impl_->subject.next_step);
  }
  // `first` is compared with a difference, not with a sum: first + count could overflow. The
  // product cannot, for the whole dataset's bytes were found to fit into int64.
  if (first < 0 || count < 0 || first > about.num_rows() - count ||
      out.size() < to_size(count * about.row_bytes())) {
    throw Error(ErrorKind::internal, format("rows {} + {} of {} were asked for in {} bytes", first,
                                            count, about.path, out.size()));
  }
  if (count * about.row_bytes() == 0) return;
  // Contiguous rows are read past HDF5 and without its lock, so that several threads read at once
  // (docs/decisions/017).
  if (about.storage == Storage::contiguous) {
    const std::string problem =
        read_at(impl_->descriptor->get(), about.offset + first * about.row_bytes(),
                out.first(to_size(count * about.row_bytes())));
    if (problem.empty()) return;
    fail(impl_->subject, about.path,
         format("cannot be read, rows {} to {} ({})", first, first + count - 1, problem));
  }
  const ActivityScope reading(Activity::read);
  const auto lock = lock_library();
  const Selection selection = select_rows(about.shape, first, count);
  check(H5Dread(impl_->id.get(), type_id(about.element), selection.memory.get(),
                selection.file.get(), H5P_DEFAULT, out.data()),
        impl_->subject, about.path, format("read, rows {} to {}", first, first + count - 1));
}

namespace {

// Returns where a chunk begins, in elements: HDF5 names chunks by that place, we by their number,
// row-major over the grid of chunks.
std::vector<hsize_t> corner_of(const DatasetInfo& info, std::int64_t chunk) {
  const Shape grid = info.chunk_grid();
  if (grid.empty() || chunk < 0 || chunk >= num_elements(grid)) {
    throw Error(ErrorKind::internal, format("chunk {} of {} was asked for", chunk, info.path));
  }
  std::vector<hsize_t> corner(grid.size());
  // The last dimension varies fastest, so it is taken off first.
  for (std::size_t d = grid.size(); d-- > 0; chunk /= grid[d]) {
    corner[d] = to_size(chunk % grid[d] * info.chunk_shape[d]);
  }
  return corner;
}

}  // namespace

std::int64_t Dataset::Impl::stored_bytes(std::int64_t chunk) const {
  // Memory for the chunk is allocated by what this returns, which may be any number in a damaged
  // file.
  const auto corner = corner_of(info, chunk);
  hsize_t bytes = 0;
  check(H5Dget_chunk_storage_size(id.get(), corner.data(), &bytes), subject, info.path,
        format("read, chunk {}", chunk));
  // A filter that makes its input longer adds little: HDF5 allows deflate 0.1 %. Twice the bytes of
  // the elements and 1 KiB are more than any chunk needs.
  const std::int64_t limit = 2 * num_elements(info.chunk_shape) * size_bytes(info.element) + 1024;
  if (std::cmp_greater(bytes, std::min(limit, file_bytes))) {
    fail(subject, info.path,
         format("declares a chunk {} of {} bytes, expected at most {}", chunk, bytes,
                std::min(limit, file_bytes)),
         "The file is damaged.");
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t Dataset::raw_chunk_bytes(std::int64_t chunk) const {
  const auto lock = lock_library();
  return impl_->stored_bytes(chunk);
}

std::uint32_t Dataset::read_raw_chunk(std::int64_t chunk, std::vector<std::byte>& bytes) const {
  const ActivityScope reading(Activity::read);
  const auto lock = lock_library();
  bytes.resize(to_size(impl_->stored_bytes(chunk)));
  const auto corner = corner_of(info(), chunk);
  std::uint32_t left_out = 0;
  check(H5Dread_chunk(impl_->id.get(), H5P_DEFAULT, corner.data(), &left_out, bytes.data()),
        impl_->subject, info().path, format("read, chunk {}", chunk));
  return left_out;
}

namespace {

// Texts are read at once, as objects of their own. They are names of classes, so that this is far
// above what is needed.
constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 30;

void require_few_texts(const Subject& subject, const DatasetInfo& info, std::size_t text_bytes) {
  const std::size_t each = sizeof(std::string) + text_bytes;
  if (to_size(num_elements(info.shape)) <= to_size(kMaxTextBytes) / each) return;
  fail(subject, info.path,
       format("holds {} texts of {} bytes, more than {} bytes in memory, which is refused",
              num_elements(info.shape), text_bytes, kMaxTextBytes));
}

// Texts of variable length lie in heaps of the file; `count` bytes more than the file holds are
// allowed, because each text gets a NUL in memory.
std::vector<std::string> read_variable(hid_t dataset, hid_t type, const Subject& subject,
                                       const DatasetInfo& info, std::int64_t file_bytes) {
  require_few_texts(subject, info, sizeof(char*));
  const Space space(check(H5Dget_space(dataset), subject, info.path, "examined"));
  // Many elements may point at one long text: what would be read must fit the file.
  hsize_t text_bytes = 0;
  check(H5Dvlen_get_buf_size(dataset, type, space.get(), &text_bytes), subject, info.path, "read");
  const std::int64_t count = num_elements(info.shape);
  if (std::cmp_greater(text_bytes, file_bytes + count)) {
    fail(subject, info.path,
         format("holds {} bytes of text in a file of {} bytes, which is refused", text_bytes,
                file_bytes));
  }
  std::vector<char*> texts(to_size(count), nullptr);
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()), subject, info.path,
        "read");
  std::vector<std::string> strings;
  strings.reserve(texts.size());
  for (const char* text : texts) strings.emplace_back(text == nullptr ? "" : text);
  check(H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, texts.data()), subject, info.path,
        "released");
  return strings;
}

std::vector<std::string> read_fixed(hid_t dataset, hid_t type, const Subject& subject,
                                    const DatasetInfo& info) {
  const std::size_t size = H5Tget_size(type);
  require_few_texts(subject, info, size);
  std::string stored(to_size(num_elements(info.shape)) * size, '\0');
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.data()), subject, info.path,
        "read");
  const H5T_str_t padding = H5Tget_strpad(type);
  std::vector<std::string> strings;
  for (std::size_t at = 0; at < stored.size(); at += size) {
    strings.push_back(without_padding(std::string_view(stored).substr(at, size), padding));
  }
  return strings;
}

}  // namespace

std::vector<std::string> Dataset::read_strings() const {
  require_element(Element::text);
  if (num_elements(info().shape) == 0) return {};
  const auto lock = lock_library();
  const Type type(check(H5Dget_type(impl_->id.get()), impl_->subject, info().path, "examined"));
  return H5Tis_variable_str(type.get()) > 0
             ? read_variable(impl_->id.get(), type.get(), impl_->subject, info(), impl_->file_bytes)
             : read_fixed(impl_->id.get(), type.get(), impl_->subject, info());
}

}  // namespace tally::hdf5
