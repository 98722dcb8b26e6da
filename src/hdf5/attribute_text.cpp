#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "attributes.hpp"

namespace tally::hdf5 {

std::string attribute_text(const AttributeView& attribute) {
  const H5T_class_t type_class = attribute.type_class();
  if (attribute.num_values() == 1) {
    if (type_class == H5T_STRING) return printable(attribute.as_string());
    if (type_class == H5T_INTEGER) return format("{}", attribute.as_int64());
  }
  constexpr std::int64_t kShown = 8;
  if (type_class == H5T_FLOAT && attribute.num_values() >= 1 && attribute.num_values() <= kShown) {
    return format("{}", fmt::join(attribute.as_doubles(), ", "));
  }
  return format("{}[{}]", attribute.type_text(), attribute.num_values());
}

}  // namespace tally::hdf5
