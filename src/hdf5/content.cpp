#include "content.hpp"

#include "attributes.hpp"
#include "selection.hpp"
#include "types.hpp"

namespace tally::hdf5 {

ObjectKind kind_of(hid_t object) {
  switch (H5Iget_type(object)) {
    case H5I_GROUP:
      return ObjectKind::group;
    case H5I_DATASET:
      return ObjectKind::dataset;
    default:
      return ObjectKind::other;
  }
}

ObjectContent content_of(hid_t object, const Subject& subject, std::string_view path) {
  ObjectContent content;
  content.kind = kind_of(object);
  if (content.kind == ObjectKind::dataset) {
    const Type type(check(H5Dget_type(object), subject, path, "examined"));
    const auto element = element_of_type(type.get());
    content.element = element ? name(*element) : "other";
    const Space space(check(H5Dget_space(object), subject, path, "examined"));
    content.shape = shape_of(space.get()).value_or(Shape{});
  }
  for (const std::string& attribute : attribute_names(object, subject, path)) {
    content.attributes.push_back(AttributeView(object, subject, path, attribute).content());
  }
  return content;
}

}  // namespace tally::hdf5
