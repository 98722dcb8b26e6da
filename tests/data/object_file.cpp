// SPDX-License-Identifier: Apache-2.0
#include "object_file.hpp"

#include <numeric>

#include "file_columns.hpp"

namespace tally::data {

std::vector<Object> ObjectFile::objects() const {
  std::vector<Object> all;
  for (const Annotated& image : images) {
    all.insert(all.end(), image.objects.begin(), image.objects.end());
  }
  return all;
}

std::vector<std::int64_t> ObjectFile::offsets() const {
  std::vector<std::int64_t> offsets{0};
  for (const Annotated& image : images) {
    offsets.push_back(offsets.back() + std::ssize(image.objects));
  }
  return offsets;
}

void ObjectFile::write(const std::filesystem::path& path) const {
  raw::create(path, [&](hid_t file) {
    const std::int64_t schema = 1, num_classes = std::ssize(class_ids);
    raw::attribute(file, "/", "tally_schema", H5T_STD_I64LE, {}, &schema);
    raw::attribute(file, "/", "num_classes", H5T_STD_I64LE, {}, &num_classes);
    raw::text(file, "/", "task", "detection");
    const FileColumns columns(file, rows_per_block);
    std::vector<std::int64_t> index(images.size());
    std::iota(index.begin(), index.end(), 0);
    columns.put("/inputs/index", H5T_STD_I64LE, index);
    columns.put_each("/images/id", H5T_STD_I64LE, images, &Annotated::id);
    columns.put_each("/images/placement", H5T_IEEE_F64LE, images, &Annotated::placement, {4});
    columns.put("/classes/id", H5T_STD_I64LE, class_ids);
    columns.put("/objects/offsets", H5T_STD_I64LE, offsets());
    columns.put_each("/objects/box", H5T_IEEE_F64LE, objects(), &Object::box, {4});
    columns.put_each("/objects/label", H5T_STD_I32LE, objects(), &Object::label);
    columns.put_each("/objects/crowd", H5T_STD_U8LE, objects(), &Object::crowd);
    columns.put_each("/objects/area", H5T_IEEE_F64LE, objects(), &Object::area);
  });
}

}  // namespace tally::data
