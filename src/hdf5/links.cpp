// SPDX-License-Identifier: Apache-2.0
#include "links.hpp"

#include <algorithm>

#include <tally/base/format.hpp>

namespace tally::hdf5 {
namespace {

// A file that claims more links is not a data set. The bound limits the memory that a hostile file
// can make us use.
constexpr std::size_t kMaxLinks = 1'000'000;
// Groups within groups: HDF5 goes through them by recursion, which the stack bounds, and each path
// is as long as it is deep. A data set needs three.
constexpr std::ptrdiff_t kMaxDepth = 32;
// Names may have 64 KiB each, and the paths of a group repeat those of the groups above it.
constexpr std::size_t kMaxPathBytes = std::size_t{256} << 20;
constexpr std::string_view kStore = "Store the data in the file itself.";

// A link that is not hard may lead into another file, whose bytes no identity and no checksum of
// this file covers.
void require_hard(const Subject& subject, std::string_view path, H5L_type_t type) {
  switch (type) {
    case H5L_TYPE_HARD:
      return;
    case H5L_TYPE_SOFT:
      fail(subject, path, "is a soft link, which is refused", kStore);
    case H5L_TYPE_EXTERNAL:
      fail(subject, path, "is an external link, which is refused", kStore);
    default:
      fail(subject, path, "is a user-defined link, which is refused", kStore);
  }
}

struct Found {
  std::string name;
  H5L_type_t type;
};

struct Collection {
  std::vector<Found> links;
  std::size_t path_bytes = 0;
  bool too_many = false;
  bool too_deep = false;
};

// HDF5 calls this from C, which exceptions must not cross: a negative result ends the walk as a
// failure.
herr_t collect(hid_t, const char* name, const H5L_info_t* info, void* data) noexcept try {
  auto& collection = *static_cast<Collection*>(data);
  const std::string_view path(name);
  collection.path_bytes += path.size();
  collection.too_many =
      collection.links.size() >= kMaxLinks || collection.path_bytes > kMaxPathBytes;
  collection.too_deep = std::ranges::count(path, '/') >= kMaxDepth;
  if (collection.too_many || collection.too_deep) return 1;
  collection.links.push_back({std::string(path), info->type});
  return 0;
} catch (...) {
  return -1;
}

void require_bounded(const Subject& subject, std::string_view group, const Collection& found) {
  if (found.too_deep) {
    fail(subject, group,
         format("holds groups within groups, more than {} deep, which is refused", kMaxDepth));
  }
  if (!found.too_many) return;
  fail(subject, group,
       format("holds more than {} objects, or more than {} bytes of their paths, which is refused",
              kMaxLinks, kMaxPathBytes));
}

}  // namespace

bool has_object(hid_t file, const Subject& subject, std::string_view path) {
  // Each part of the path is examined before the next one is followed: H5Lexists() fails where a
  // group on the way is missing, and a soft or external link must be refused before HDF5 opens what
  // it leads to.
  std::size_t end = 0;
  while (end < path.size() && path != "/") {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string prefix(path.substr(0, end));
    const htri_t there =
        check(H5Lexists(file, prefix.c_str(), H5P_DEFAULT), subject, prefix, "looked up");
    if (there == 0) return false;
    H5L_info_t info{};
    check(H5Lget_info(file, prefix.c_str(), &info, H5P_DEFAULT), subject, prefix, "looked up");
    require_hard(subject, prefix, info.type);
    // What the last link leads to may be any object; those on the way must be groups.
    if (end == path.size()) break;
    const Object object(
        check(H5Oopen(file, prefix.c_str(), H5P_DEFAULT), subject, prefix, "opened"));
    if (H5Iget_type(object.get()) != H5I_GROUP) return false;
  }
  return true;
}

Object open_object(hid_t file, const Subject& subject, std::string_view path) {
  if (!has_object(file, subject, path)) fail(subject, path, "is missing", subject.next_step);
  return open_checked(file, subject, path);
}

Object open_checked(hid_t file, const Subject& subject, std::string_view path) {
  const std::string name(path);
  return Object(check(H5Oopen(file, name.c_str(), H5P_DEFAULT), subject, path, "opened"));
}

std::vector<std::string> link_names(hid_t file, const Subject& subject, std::string_view group) {
  const Object object = open_object(file, subject, group);
  if (H5Iget_type(object.get()) != H5I_GROUP) fail(subject, group, "is not a group");
  Collection found;
  check(H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &found), subject,
        group, "listed");
  require_bounded(subject, group, found);
  std::vector<std::string> names;
  for (Found& link : found.links) names.push_back(std::move(link.name));
  std::ranges::sort(names);
  return names;
}

namespace {

// H5Lvisit() goes along hard links alone and enters each group once, so that a group that holds
// itself ends the walk, too. It only lists the other links.
Collection all_links(hid_t file, const Subject& subject) {
  Collection found;
  check(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, collect, &found), subject, "", "walked");
  return found;
}

}  // namespace

std::vector<std::string> all_paths(hid_t file, const Subject& subject) {
  const Collection found = all_links(file, subject);
  require_bounded(subject, "/", found);
  std::vector<std::string> paths;
  for (const Found& link : found.links) {
    paths.push_back("/" + link.name);
    require_hard(subject, paths.back(), link.type);
  }
  // HDF5 goes through one group after the other, which is not the order of whole paths by bytes.
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> hard_links(hid_t file, const Subject& subject) {
  std::vector<std::string> paths;
  for (const Found& link : all_links(file, subject).links) {
    if (link.type == H5L_TYPE_HARD) paths.push_back("/" + link.name);
  }
  return paths;
}

}  // namespace tally::hdf5
