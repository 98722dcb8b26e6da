// SPDX-License-Identifier: Apache-2.0
#include <tally/hdf5/writer.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "library.hpp"
#include "links.hpp"
#include "types_and_spaces.hpp"

namespace tally::hdf5 {

struct Writer::Impl {
  struct Open {
    DatasetId id;
    Element element;
    Shape shape;
  };

  explicit Impl(Subject about) : subject(std::move(about)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Subject subject;
  File file;
  std::map<std::string, Open, std::less<>> datasets;

  DatasetId create(std::string_view path, hid_t type, const Shape& shape);
  const Open& opened(std::string_view path) const;
  void attach(std::string_view object, std::string_view name, hid_t type, const Shape& shape,
              const void* values);
};

namespace {

// Texts are filled up to the longest one, unless that takes more than this many bytes.
constexpr std::size_t kMostFixedText = 64U << 20;

// Datasets of 64 KiB and more begin at a multiple of 4,096 bytes, as in files of tally_data
// (data_tools/SCHEMA.md, Storage).
constexpr hsize_t kAlignedFrom = 1U << 16, kAlignment = 4096;

Properties write_access(const Subject& subject) {
  Properties access(check(H5Pcreate(H5P_FILE_ACCESS), subject, "", "created"));
  // Debian 12 ships HDF5 1.10, which cannot read what newer libraries write under `latest`.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), subject, "",
        "created");
  check(H5Pset_alignment(access.get(), kAlignedFrom, kAlignment), subject, "", "created");
  // No lock is taken, as in the reader: some parallel file systems have none.
  check(H5Pset_file_locking(access.get(), 0, 1), subject, "", "created");
  // Closing fails while something in the file is open, instead of being put off.
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI), subject, "", "created");
  return access;
}

Properties with_groups(const Subject& subject, std::string_view path) {
  Properties links(check(H5Pcreate(H5P_LINK_CREATE), subject, path, "created"));
  check(H5Pset_create_intermediate_group(links.get(), 1), subject, path, "created");
  return links;
}

// Storage is allocated when a dataset is created, so where its bytes lie does not depend on the
// order in which rows are written. Times are left out. Both make equal content equal bytes.
Properties plain_storage(const Subject& subject, std::string_view path) {
  Properties storage(check(H5Pcreate(H5P_DATASET_CREATE), subject, path, "created"));
  check(H5Pset_layout(storage.get(), H5D_CONTIGUOUS), subject, path, "created");
  check(H5Pset_alloc_time(storage.get(), H5D_ALLOC_TIME_EARLY), subject, path, "created");
  check(H5Pset_obj_track_times(storage.get(), 0), subject, path, "created");
  return storage;
}

}  // namespace

// A file that cannot be flushed is left open: closing it would fail half way and leave HDF5 1.10
// with an identifier of freed memory. The program is about to end with the error that was thrown.
Writer::Impl::~Impl() {
  if (!file) return;
  const auto lock = lock_library();
  if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0) return;
  for (auto& [path, dataset] : datasets) dataset.id.release();
  file.release();
}

DatasetId Writer::Impl::create(std::string_view path, hid_t type, const Shape& shape) {
  const Space space = make_space(shape);
  const Properties links = with_groups(subject, path);
  const Properties storage = plain_storage(subject, path);
  // Rows are written by the caller, so HDF5 need not fill them. Texts of variable length are
  // pointers in the file, which must be valid before they are written.
  if (H5Tis_variable_str(type) <= 0) {
    check(H5Pset_fill_time(storage.get(), H5D_FILL_TIME_NEVER), subject, path, "created");
  }
  const std::string name(path);
  return DatasetId(check(H5Dcreate2(file.get(), name.c_str(), type, space.get(), links.get(),
                                    storage.get(), H5P_DEFAULT),
                         subject, path, "created"));
}

const Writer::Impl::Open& Writer::Impl::opened(std::string_view path) const {
  const auto found = datasets.find(path);
  if (found == datasets.end()) {
    throw Error(ErrorKind::internal, format("rows are written to {}, which was not created", path));
  }
  return found->second;
}

void Writer::Impl::attach(std::string_view object, std::string_view name, hid_t type,
                          const Shape& shape, const void* values) {
  const std::string attribute(name);
  const std::string action = format("given the attribute '{}'", name);
  const Object target = open_object(file.get(), subject, object);
  // An attribute cannot change its type or size, so one of the same name is removed first.
  if (check(H5Aexists(target.get(), attribute.c_str()), subject, object, action) > 0) {
    check(H5Adelete(target.get(), attribute.c_str()), subject, object, action);
  }
  const Space space = make_space(shape);
  Attribute created(check(
      H5Acreate2(target.get(), attribute.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
      subject, object, action));
  check(H5Awrite(created.get(), type, values), subject, object, action);
  // The attribute is closed by hand, because a destructor could not report that it failed.
  check(H5Aclose(created.release()), subject, object, action);
}

Writer::Writer(const std::filesystem::path& path, Mode mode, ErrorKind kind, std::string_view what)
    : impl_(std::make_unique<Impl>(Subject{kind, std::string(what), path})) {
  const auto lock = lock_library();
  const Properties access = write_access(impl_->subject);
  const std::string name = path.string();
  impl_->file = File(
      mode == Mode::create
          ? check(H5Fcreate(name.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), impl_->subject,
                  "", "created")
          : check(H5Fopen(name.c_str(), H5F_ACC_RDWR, access.get()), impl_->subject, "", "opened"));
}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

void Writer::create_dataset(std::string_view path, Element element, const Shape& shape) {
  const auto lock = lock_library();
  DatasetId id = impl_->create(path, type_id(element), shape);
  impl_->datasets.emplace(path, Impl::Open{std::move(id), element, shape});
}

void Writer::write_rows(std::string_view path, std::int64_t first, std::int64_t count,
                        std::span<const std::byte> rows) {
  const auto lock = lock_library();
  const Impl::Open& dataset = impl_->opened(path);
  const std::int64_t num_rows = dataset.shape.empty() ? 1 : dataset.shape.front();
  const std::int64_t row_elements =
      dataset.shape.empty() ? 1 : num_elements(std::span(dataset.shape).subspan(1));
  if (first < 0 || count < 0 || first > num_rows - count ||
      rows.size() != to_size(count * row_elements * size_bytes(dataset.element))) {
    throw Error(ErrorKind::internal, format("rows {} + {} of {} are written from {} bytes", first,
                                            count, path, rows.size()));
  }
  if (rows.empty()) return;
  const Selection selection = select_rows(dataset.shape, first, count);
  check(H5Dwrite(dataset.id.get(), type_id(dataset.element), selection.memory.get(),
                 selection.file.get(), H5P_DEFAULT, rows.data()),
        impl_->subject, path, "written");
}

void Writer::write_whole(std::string_view path, std::span<const std::byte> values) {
  const Shape& shape = impl_->opened(path).shape;
  write_rows(path, 0, shape.empty() ? 1 : shape.front(), values);
}

// Texts of one length lie in the file as plain bytes and are read without pointers; HDF5 1.10 may
// crash on damaged texts of variable length.
void Writer::write_strings(std::string_view path, std::span<const std::string> strings) {
  const auto lock = lock_library();
  std::size_t longest = 1;
  for (const std::string& text : strings) longest = std::max(longest, text.size());
  // The division avoids the overflow of a product. HDF5 has no strings of length 0, hence at least
  // 1.
  const bool is_fixed = strings.size() <= kMostFixedText / longest;
  const Type type = text_type(is_fixed ? longest : H5T_VARIABLE);
  const Shape shape{checked_cast<std::int64_t>(strings.size())};
  DatasetId id = impl_->create(path, type.get(), shape);
  std::string fixed;
  std::vector<const char*> variable;
  for (const std::string& text : strings) {
    if (is_fixed) fixed.append(text).append(longest - text.size(), '\0');
    variable.push_back(text.c_str());
  }
  if (!strings.empty()) {
    const void* texts = is_fixed ? static_cast<const void*>(fixed.data()) : variable.data();
    check(H5Dwrite(id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts), impl_->subject,
          path, "written");
  }
  impl_->datasets.emplace(path, Impl::Open{std::move(id), Element::text, shape});
}

void Writer::set_attribute(std::string_view object, std::string_view name, std::int64_t value) {
  const auto lock = lock_library();
  impl_->attach(object, name, type_id(Element::i64), {}, &value);
}

void Writer::set_attribute(std::string_view object, std::string_view name, double value) {
  const auto lock = lock_library();
  impl_->attach(object, name, type_id(Element::f64), {}, &value);
}

void Writer::set_attribute(std::string_view object, std::string_view name,
                           std::span<const double> values) {
  const auto lock = lock_library();
  impl_->attach(object, name, type_id(Element::f64), {checked_cast<std::int64_t>(values.size())},
                values.data());
}

void Writer::set_attribute(std::string_view object, std::string_view name, std::string_view text) {
  const auto lock = lock_library();
  // HDF5 has no strings of length 0: an empty one is a NUL.
  const std::string stored = text.empty() ? std::string(1, '\0') : std::string(text);
  const Type type = text_type(stored.size());
  impl_->attach(object, name, type.get(), {}, stored.data());
}

void Writer::close() {
  const auto lock = lock_library();
  // A full disk must be found by this call, and not by closing, which would fail half way (see the
  // destructor).
  check(H5Fflush(impl_->file.get(), H5F_SCOPE_GLOBAL), impl_->subject, "", "written");
  for (auto& [path, dataset] : impl_->datasets) {
    check(H5Dclose(dataset.id.release()), impl_->subject, path, "written");
  }
  impl_->datasets.clear();
  check(H5Fclose(impl_->file.release()), impl_->subject, "", "written");
}

}  // namespace tally::hdf5
