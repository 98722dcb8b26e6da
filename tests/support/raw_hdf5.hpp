// SPDX-License-Identifier: Apache-2.0
// Files for tests, made through HDF5's own C interface: also those that Tally itself never writes.
// Link hdf5::hdf5 and define H5_USE_110_API.
#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tally::raw {

// A folder of its own, gone at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tally-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

template <class Result>
Result ok(Result result) {
  if (result < 0) throw std::runtime_error("an HDF5 call of the test itself failed");
  return result;
}

using Dims = std::vector<hsize_t>;

inline hid_t space(const Dims& dims) {
  if (dims.empty()) return ok(H5Screate(H5S_SCALAR));
  return ok(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
}

// `properties` is taken over; without values the dataset is made but not written.
inline void dataset(hid_t file, const char* path, hid_t type, const Dims& dims, const void* values,
                    hid_t properties = H5P_DEFAULT) {
  const hid_t extent = space(dims);
  const hid_t links = ok(H5Pcreate(H5P_LINK_CREATE));
  ok(H5Pset_create_intermediate_group(links, 1));
  const hid_t id = ok(H5Dcreate2(file, path, type, extent, links, properties, H5P_DEFAULT));
  if (values != nullptr) ok(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  ok(H5Dclose(id));
  ok(H5Pclose(links));
  if (properties != H5P_DEFAULT) ok(H5Pclose(properties));
  ok(H5Sclose(extent));
}

inline void attribute(hid_t file, const char* object, const char* name, hid_t type,
                      const Dims& dims, const void* values) {
  const hid_t target = ok(H5Oopen(file, object, H5P_DEFAULT));
  if (ok(H5Aexists(target, name)) > 0) ok(H5Adelete(target, name));
  const hid_t extent = space(dims);
  const hid_t id = ok(H5Acreate2(target, name, type, extent, H5P_DEFAULT, H5P_DEFAULT));
  ok(H5Awrite(id, type, values));
  ok(H5Aclose(id));
  ok(H5Sclose(extent));
  ok(H5Oclose(target));
}

// A string attribute of fixed length, padded as asked.
inline void text(hid_t file, const char* object, const char* name, std::string_view value,
                 H5T_str_t padding = H5T_STR_NULLPAD, std::size_t size = 32) {
  std::string stored(value);
  stored.resize(size, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
  const hid_t type = ok(H5Tcopy(H5T_C_S1));
  ok(H5Tset_size(type, size));
  ok(H5Tset_strpad(type, padding));
  attribute(file, object, name, type, {}, stored.data());
  ok(H5Tclose(type));
}

inline void remove(hid_t file, const char* path) { ok(H5Ldelete(file, path, H5P_DEFAULT)); }

inline void remove_attribute(hid_t file, const char* object, const char* name) {
  ok(H5Adelete_by_name(file, object, name, H5P_DEFAULT));
}

inline void create(const std::filesystem::path& path, const std::function<void(hid_t)>& fill) {
  const hid_t file = ok(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
  fill(file);
  ok(H5Fclose(file));
}

inline void edit(const std::filesystem::path& path, const std::function<void(hid_t)>& change) {
  const hid_t file = ok(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  change(file);
  ok(H5Fclose(file));
}

inline hid_t chunked(const Dims& chunk) {
  const hid_t properties = ok(H5Pcreate(H5P_DATASET_CREATE));
  ok(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()));
  return properties;
}

// A dataset that is one deflated chunk, whose stored bytes could be as many elements as `dims` says
// and are none: for what is refused before they are decoded.
inline void declared(hid_t file, const char* path, hid_t type, const Dims& dims) {
  const hid_t properties = chunked(dims);
  ok(H5Pset_deflate(properties, 1));
  dataset(file, path, type, dims, nullptr, properties);
  std::size_t bytes = H5Tget_size(type);
  for (const hsize_t size : dims) bytes *= size;
  const std::vector<char> stored(bytes / 1000);
  const Dims corner(dims.size());
  const hid_t id = ok(H5Dopen2(file, path, H5P_DEFAULT));
  ok(H5Dwrite_chunk(id, H5P_DEFAULT, 0, corner.data(), stored.size(), stored.data()));
  ok(H5Dclose(id));
}

}  // namespace tally::raw
