#include "selection.hpp"

#include <vector>

#include <tally/base/checked_cast.hpp>

namespace tally::hdf5 {
namespace {

Error no_space() { return {ErrorKind::internal, "HDF5 cannot make a row selection"}; }

}  // namespace

Space make_space(const Shape& shape) {
  std::vector<hsize_t> sizes;
  for (const std::int64_t size : shape) sizes.push_back(checked_cast<hsize_t>(size));
  Space space(shape.empty()
                  ? H5Screate(H5S_SCALAR)
                  : H5Screate_simple(checked_cast<int>(sizes.size()), sizes.data(), nullptr));
  if (!space) throw no_space();
  return space;
}

std::optional<Shape> shape_of(hid_t space) {
  hsize_t sizes[H5S_MAX_RANK];
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  const int rank = H5Sget_simple_extent_dims(space, sizes, nullptr);
  if (kind == H5S_NULL || kind == H5S_NO_CLASS || rank < 0) return std::nullopt;
  Shape shape;
  for (std::size_t d = 0; d < to_size(rank); ++d) {
    shape.push_back(checked_cast<std::int64_t>(sizes[d]));
  }
  return shape;
}

Selection select_rows(const Shape& shape, std::int64_t first, std::int64_t count) {
  Selection selection{make_space(shape), Space()};
  if (shape.empty()) {
    selection.memory = make_space({1});
    return selection;
  }
  std::vector<hsize_t> start(shape.size(), 0);
  std::vector<hsize_t> sizes;
  for (const std::int64_t size : shape) sizes.push_back(checked_cast<hsize_t>(size));
  start[0] = checked_cast<hsize_t>(first);
  sizes[0] = checked_cast<hsize_t>(count);
  if (H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, start.data(), nullptr, sizes.data(),
                          nullptr) < 0) {
    throw no_space();
  }
  Shape rows = shape;
  rows[0] = count;
  // Of the same shape: HDF5 maps chunks to other shapes element by element.
  selection.memory = make_space(rows);
  return selection;
}

}  // namespace tally::hdf5
