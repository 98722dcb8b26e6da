// SPDX-License-Identifier: Apache-2.0
#include <tally/hdf5/reader.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_impl.hpp"
#include "links.hpp"
#include "reader_impl.hpp"
#include "require_harmless.hpp"
#include "storage.hpp"

namespace tally::hdf5 {
namespace {

Properties read_access(const Subject& subject) {
  Properties access(check(H5Pcreate(H5P_FILE_ACCESS), subject, "", "opened"));
  // HDF5's locks are not taken: a lock of another program would stop us, and some parallel file
  // systems have none. What writes meanwhile is found by require_unchanged().
  check(H5Pset_file_locking(access.get(), 0, 1), subject, "", "opened");
  // Of this driver H5Fget_vfd_handle() gives a POSIX descriptor, which descriptor_of() relies on.
  check(H5Pset_fapl_sec2(access.get()), subject, "", "opened");
  return access;
}

// What is no file that HDF5 could read gets a message of its own, before HDF5 sees it.
std::int64_t size_of_file(const Subject& subject) {
  struct stat status {};
  if (::stat(subject.path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) fail(subject, "", "does not exist", "Check the path.");
    fail(subject, "", format("cannot be read ({})", errno_text(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    fail(subject, "", "is a folder, expected an HDF5 file",
         "Make one of a folder of images with data_tools/prepare_imagefolder.py.");
  }
  if (!S_ISREG(status.st_mode)) fail(subject, "", "is not a regular file");
  if (status.st_size == 0) fail(subject, "", "is empty, expected an HDF5 file");
  return status.st_size;
}

// HDF5 names both sizes of a truncated file in a text of its own, which is parsed here for the
// message. Where that text is another one, it is shown as it is.
[[noreturn]] void fail_open(const Subject& subject, std::int64_t file_bytes) {
  const std::string reason = innermost_error();
  // Of a foreign file HDF5 only says that a signature was not found; this message says what to do.
  const htri_t is_hdf5 = H5Fis_hdf5(subject.path.c_str());
  if (is_hdf5 == 0)
    fail(subject, "", "is not an HDF5 file", "See what it is with 'tally inspect'.");
  if (is_hdf5 < 0) fail(subject, "", format("cannot be read ({})", innermost_error()));
  unsigned long long found = 0, base = 0, expected = 0;
  if (std::sscanf(reason.c_str(),
                  "truncated file: eof = %llu, sblock->base_addr = %llu, "
                  "stored_eof = %llu",
                  &found, &base, &expected) == 3) {
    fail(subject, "", format("is truncated: {} bytes, expected {}", file_bytes, expected),
         "Copy or write it again.");
  }
  fail(subject, "", format("cannot be opened (HDF5: {})", reason));
}

File open_file(const Subject& subject, std::int64_t file_bytes) {
  const ActivityScope reading(Activity::read);
  const auto lock = lock_library();
  const Properties access = read_access(subject);
  File file(H5Fopen(subject.path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!file) fail_open(subject, file_bytes);
  return file;
}

// HDF5's own descriptor is duplicated: the file of this name may be another one by now. Datasets
// share it, because they may outlive their reader.
std::shared_ptr<const UniqueDescriptor> descriptor_of(const File& file, const Subject& subject) {
  const auto lock = lock_library();
  void* handle = nullptr;
  check(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle), subject, "", "opened");
  UniqueDescriptor descriptor(::fcntl(*static_cast<int*>(handle), F_DUPFD_CLOEXEC, 0));
  if (!descriptor) fail(subject, "", format("cannot be opened ({})", errno_text(errno)));
  return std::make_shared<const UniqueDescriptor>(std::move(descriptor));
}

FileStamp stamp_of(const UniqueDescriptor& descriptor, const Subject& subject) {
  const auto stamp = FileStamp::of(descriptor.get());
  if (!stamp) fail(subject, "", format("cannot be examined ({})", errno_text(errno)));
  return *stamp;
}

// HDF5's cache holds one row of chunks, so that reading a part of a filtered chunk does not decode
// it anew each time. Half as much again leaves room for chunks that reach over the edge. Unfiltered
// chunks are faster without a cache (HDF5 then reads straight to the caller).
// The number of slots is a prime far above that of the chunks, as HDF5's documentation asks for. A
// weight of 1 lets chunks go first that were read to their end: rows are read in order.
Properties dataset_access(const DatasetInfo& info, const Subject& subject) {
  Properties access(check(H5Pcreate(H5P_DATASET_ACCESS), subject, info.path, "opened"));
  if (info.filters.empty() || info.chunk_shape.empty()) return access;  // without rows: no chunks
  constexpr std::size_t kSlots = 12'421, kLeast = 1U << 20, kMost = 256U << 20;
  const std::size_t rows = to_size(info.chunk_shape.front());
  const std::size_t wanted = rows * to_size(info.row_bytes()) * 3 / 2;
  check(H5Pset_chunk_cache(access.get(), kSlots, std::clamp(wanted, kLeast, kMost), 1.0), subject,
        info.path, "opened");
  return access;
}

}  // namespace

Reader::Reader(const std::filesystem::path& path, ErrorKind kind, std::string_view what,
               std::string_view next_step)
    : impl_(std::make_unique<Impl>(
          Impl{{kind, std::string(what), path, next_step}, 0, File(), {}, {}})) {
  // The stamp is that of the descriptor that is read from, so it is that of the same file whatever
  // happens to the name.
  impl_->file_bytes = size_of_file(impl_->subject);
  require_harmless(impl_->subject);
  impl_->file = open_file(impl_->subject, impl_->file_bytes);
  impl_->descriptor = descriptor_of(impl_->file, impl_->subject);
  impl_->opened = stamp_of(*impl_->descriptor, impl_->subject);
}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const std::filesystem::path& Reader::path() const { return impl_->subject.path; }
std::int64_t Reader::file_bytes() const { return impl_->file_bytes; }

void Reader::require_unchanged() const {
  const std::string change = change_since(impl_->opened, impl_->descriptor->get());
  if (!change.empty()) fail(impl_->subject, "", change, kLeaveAlone);
}

std::string Reader::stamp() const { return impl_->opened.text_with_inode(); }

void Reader::refuse_indirections() const {
  const auto lock = lock_library();
  for (const std::string& path : all_paths()) {
    const Object object = open_checked(impl_->file.get(), impl_->subject, path);
    if (H5Iget_type(object.get()) == H5I_DATASET) {
      refuse_foreign_storage(object.get(), impl_->subject, path);
    }
  }
}

std::vector<std::string> Reader::all_paths() const {
  const auto lock = lock_library();
  return hdf5::all_paths(impl_->file.get(), impl_->subject);
}

bool Reader::exists(std::string_view path) const {
  const auto lock = lock_library();
  return has_object(impl_->file.get(), impl_->subject, path);
}

ObjectKind Reader::kind_of(std::string_view path) const {
  const auto lock = lock_library();
  const Object object = open_object(impl_->file.get(), impl_->subject, path);
  return hdf5::kind_of(object.get());
}

ObjectContent Reader::content_of(std::string_view path) const {
  const auto lock = lock_library();
  const Object object = open_object(impl_->file.get(), impl_->subject, path);
  return hdf5::content_of(object.get(), impl_->subject, path);
}

std::vector<std::string> Reader::children(std::string_view group) const {
  const auto lock = lock_library();
  return link_names(impl_->file.get(), impl_->subject, group);
}

// A chunked dataset is opened twice, because the size of its cache is settled when it is opened and
// depends on its chunks.
Dataset Reader::dataset(std::string_view path) const {
  const auto lock = lock_library();
  const Subject& subject = impl_->subject;
  if (kind_of(path) != ObjectKind::dataset) {
    fail(subject, path, "is not a dataset", subject.next_step);
  }
  const std::string name(path);
  auto impl = std::make_unique<Dataset::Impl>();
  impl->subject = subject;
  impl->file_bytes = impl_->file_bytes;
  impl->descriptor = impl_->descriptor;
  impl->id = DatasetId(
      check(H5Dopen2(impl_->file.get(), name.c_str(), H5P_DEFAULT), subject, path, "opened"));
  impl->info = examine(impl->id.get(), subject, path, impl_->file_bytes);
  if (impl->info.storage == Storage::chunked) {
    const Properties access = dataset_access(impl->info, subject);
    // The first identifier must be gone: while a dataset is open, another opening shares its cache.
    impl->id = DatasetId();
    impl->id = DatasetId(
        check(H5Dopen2(impl_->file.get(), name.c_str(), access.get()), subject, path, "opened"));
  }
  return Dataset(std::move(impl));
}

std::vector<std::string> Reader::attribute_names(std::string_view object) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return hdf5::attribute_names(opened.get(), impl_->subject, object);
}

bool Reader::has_attribute(std::string_view object, std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  const std::string name(attribute);
  return check(H5Aexists(opened.get(), name.c_str()), impl_->subject, object, "examined") > 0;
}

std::int64_t Reader::int64_attribute(std::string_view object, std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return impl_->attribute(opened, object, attribute).as_int64();
}

std::vector<std::int64_t> Reader::int64s_attribute(std::string_view object,
                                                   std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return impl_->attribute(opened, object, attribute).as_int64s();
}

double Reader::double_attribute(std::string_view object, std::string_view attribute) const {
  const std::vector<double> values = doubles_attribute(object, attribute);
  if (values.size() == 1) return values.front();
  fail(impl_->subject, object,
       format("attribute '{}' has {} values, expected 1", attribute, values.size()),
       impl_->subject.next_step);
}

std::vector<double> Reader::doubles_attribute(std::string_view object,
                                              std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return impl_->attribute(opened, object, attribute).as_doubles();
}

std::string Reader::string_attribute(std::string_view object, std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return impl_->attribute(opened, object, attribute).as_string();
}

std::string Reader::attribute_text(std::string_view object, std::string_view attribute) const {
  const auto lock = lock_library();
  const Object opened = open_object(impl_->file.get(), impl_->subject, object);
  return hdf5::attribute_text(impl_->attribute(opened, object, attribute));
}

}  // namespace tally::hdf5
