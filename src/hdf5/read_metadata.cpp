// SPDX-License-Identifier: Apache-2.0
#include "read_metadata.hpp"

#include <new>

#include "attributes.hpp"
#include "links.hpp"
#include "reader_impl.hpp"

namespace tally::hdf5 {
namespace {

// Texts are read at once. Those that Tally reads are names of classes, of which there are fewer.
constexpr std::int64_t kMostTexts = std::int64_t{1} << 16;

// What is refused here the Reader may not ask for. Where HDF5 itself fails the file is not for the
// other process: after failures, too, HDF5 frees what it never had.
template <class Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const CallFailed&) {
    throw;
  } catch (const Error&) {
  }
}

void read_attributes(hid_t object, const Subject& subject, std::string_view path) {
  std::vector<std::string> names;
  attempt([&] { names = attribute_names(object, subject, path); });
  for (const std::string& name : names) {
    attempt([&] { AttributeView(object, subject, path, name).content(); });
  }
}

void read_dataset(const Dataset& dataset) {
  const DatasetInfo& info = dataset.info();
  if (const std::int64_t chunks = num_elements(info.chunk_grid()); !info.chunk_shape.empty()) {
    // All of them were counted, which goes through the index in another way than to one of them.
    for (const std::int64_t chunk : {std::int64_t{0}, chunks - 1}) {
      attempt([&] { dataset.raw_chunk_bytes(chunk); });
    }
  }
  if (info.element == Element::text && num_elements(info.shape) <= kMostTexts) {
    dataset.read_strings();
  }
}

}  // namespace

namespace {

void read_object(const Reader& file, hid_t id, const Subject& subject, const std::string& path) {
  ObjectKind kind = ObjectKind::other;
  attempt([&] {
    const Object opened = open_object(id, subject, path);
    kind = kind_of(opened.get());
    read_attributes(opened.get(), subject, path);
  });
  if (kind == ObjectKind::group) attempt([&] { link_names(id, subject, path); });
  if (kind == ObjectKind::dataset) attempt([&] { read_dataset(file.dataset(path)); });
}

}  // namespace

void read_metadata(const std::filesystem::path& path, std::string_view what) try {
  const Reader file(path, ErrorKind::dataset, what);
  const auto lock = lock_library();
  const Subject& subject = file.impl_->subject;
  const hid_t id = file.impl_->file.get();
  read_object(file, id, subject, "/");
  for (const std::string& object : hard_links(id, subject)) read_object(file, id, subject, object);
} catch (const Error&) {
  if (lacked_memory()) throw std::bad_alloc();
  throw;
}

}  // namespace tally::hdf5
