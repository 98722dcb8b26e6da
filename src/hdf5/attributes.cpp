// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"

#include <algorithm>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "types_and_spaces.hpp"

namespace tally::hdf5 {
namespace {

// An attribute of more values is refused, for all of them are read at once. HDF5 itself keeps
// attributes below 64 KiB unless it is asked for more.
constexpr std::int64_t kMaxValues = 1 << 20;

// An attribute has at most so many texts of variable length: they may all be one long text of the
// file, and HDF5 cannot say how long they are before it reads them. All together they may have as
// many bytes as texts of fixed length.
constexpr std::int64_t kMaxVariableTexts = 1024;

// HDF5 looks for an attribute among all others of its object, so that the time to read all of them
// grows with the square of their number.
constexpr std::size_t kMaxAttributes = 4096;

struct AttributeNames {
  std::vector<std::string> names;
  bool too_many = false;
};

// HDF5 calls this from C, which exceptions must not cross: a negative result ends the iteration as
// a failure.
herr_t collect(hid_t, const char* name, const H5A_info_t*, void* data) noexcept try {
  auto& found = *static_cast<AttributeNames*>(data);
  found.too_many = found.names.size() >= kMaxAttributes;
  if (found.too_many) return 1;
  found.names.emplace_back(name);
  return 0;
} catch (...) {
  return -1;
}

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// The length comes first, so that no two lists of texts give the same bytes (data_tools/SCHEMA.md,
// Structure digest).
void append(std::vector<std::byte>& bytes, const std::string& text) {
  const std::uint64_t length = text.size();
  append(bytes, std::as_bytes(std::span(&length, 1)));
  append(bytes, std::as_bytes(std::span(text)));
}

}  // namespace

AttributeView::AttributeView(hid_t object, const Subject& subject, std::string_view path,
                             std::string_view name)
    : subject_(subject), object_(path), name_(name) {
  // H5Aopen() would only say that the call failed: a missing attribute gets a message of its own.
  if (check(H5Aexists(object, name_.c_str()), subject_, object_, "examined") == 0) {
    fail(subject_, object_, format("has no attribute '{}'", name_), subject_.next_step);
  }
  attribute_ = Attribute(check(H5Aopen(object, name_.c_str(), H5P_DEFAULT), subject_, object_,
                               format("read, attribute '{}'", name_)));
  type_ = Type(check(H5Aget_type(attribute_.get()), subject_, object_, "examined"));
  space_ = Space(check(H5Aget_space(attribute_.get()), subject_, object_, "examined"));
  num_values_ = check(H5Sget_simple_extent_npoints(space_.get()), subject_, object_, "examined");
  if (num_values_ > kMaxValues) {
    fail(subject_, object_,
         format("attribute '{}' has {} values, which is refused", printable(name_), num_values_));
  }
}

void AttributeView::wrong(std::string_view expected) const {
  // The message shows how many values there are, because that alone may be what is wrong.
  const std::string count = num_values_ == 1 ? "" : format("[{}]", num_values_);
  fail(subject_, object_,
       format("attribute '{}' is {}{}, expected {}", printable(name_), describe_type(type_.get()),
              count, expected),
       subject_.next_step);
}

void AttributeView::read(hid_t memory_type, void* values) const {
  check(H5Aread(attribute_.get(), memory_type, values), subject_, object_,
        format("read, attribute '{}'", printable(name_)));
}

std::int64_t AttributeView::as_int64() const {
  if (type_class() != H5T_INTEGER || num_values_ != 1) wrong("one integer");
  return as_int64s().front();
}

std::vector<std::int64_t> AttributeView::as_int64s() const {
  // A scalar counts as a list of one value, as does any shape that holds one value.
  const bool is_list = num_values_ == 1 || H5Sget_simple_extent_ndims(space_.get()) == 1;
  if (type_class() != H5T_INTEGER || num_values_ < 1 || !is_list) wrong("integers");
  std::vector<std::int64_t> values(to_size(num_values_));
  // HDF5 converts any width and byte order to the type that is asked for. A value that does not fit
  // is clipped without an error, so unsigned integers are read as such and compared here.
  if (H5Tget_sign(type_.get()) != H5T_SGN_NONE) {
    read(H5T_NATIVE_INT64, values.data());
    return values;
  }
  std::vector<std::uint64_t> stored(values.size());
  read(H5T_NATIVE_UINT64, stored.data());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!std::in_range<std::int64_t>(stored[i])) wrong("integers below 2^63");
    values[i] = static_cast<std::int64_t>(stored[i]);
  }
  return values;
}

std::string AttributeView::integer_text() const {
  if (H5Tget_sign(type_.get()) != H5T_SGN_NONE) return format("{}", as_int64());
  std::uint64_t value = 0;
  read(H5T_NATIVE_UINT64, &value);
  return format("{}", value);
}

std::vector<double> AttributeView::as_doubles() const {
  const int rank = H5Sget_simple_extent_ndims(space_.get());
  if (type_class() != H5T_FLOAT || num_values_ < 1 || rank > 1) wrong("float64");
  std::vector<double> values(to_size(num_values_));
  read(H5T_NATIVE_DOUBLE, values.data());
  return values;
}

std::string AttributeView::as_string() const {
  if (type_class() != H5T_STRING || num_values_ != 1) wrong("one string");
  return read_texts().front();
}

std::vector<std::string> AttributeView::read_texts() const {
  if (num_values_ == 0) return {};
  return H5Tis_variable_str(type_.get()) > 0 ? read_variable_texts() : read_fixed_texts();
}

std::vector<std::string> AttributeView::read_variable_texts() const {
  if (num_values_ > kMaxVariableTexts) {
    wrong(format("at most {} texts of variable length", kMaxVariableTexts));
  }
  // HDF5 allocates each text of variable length; H5Dvlen_reclaim() gives them back. A null pointer
  // is an empty text.
  std::vector<char*> texts(to_size(num_values_), nullptr);
  read(type_.get(), texts.data());
  std::vector<std::string> copies;
  std::size_t bytes = 0;
  for (const char* text : texts) {
    const std::string_view view(text == nullptr ? "" : text);
    bytes += view.size();
    if (bytes <= to_size(kMaxValues)) copies.emplace_back(view);
  }
  H5Dvlen_reclaim(type_.get(), space_.get(), H5P_DEFAULT, texts.data());
  if (bytes > to_size(kMaxValues)) wrong("shorter strings");
  return copies;
}

std::vector<std::string> AttributeView::read_fixed_texts() const {
  const std::size_t size = H5Tget_size(type_.get()), count = to_size(num_values_);
  // The division bounds size * count without overflow: both come from the file.
  if (size == 0 || size > to_size(kMaxValues) / count) wrong("shorter strings");
  std::string stored(size * count, '\0');
  read(type_.get(), stored.data());
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < stored.size(); at += size) {
    texts.push_back(
        without_padding(std::string_view(stored).substr(at, size), H5Tget_strpad(type_.get())));
  }
  return texts;
}

// Whatever width and byte order the file has, numbers are read in one form, so that the digest of a
// structure does not depend on how the same values are stored.
AttributeContent AttributeView::content() const {
  AttributeContent content;
  content.name = name_;
  const auto shape = shape_of(space_.get());
  const H5T_class_t kind = type_class();
  if (!shape || (kind != H5T_INTEGER && kind != H5T_FLOAT && kind != H5T_STRING)) return content;
  content.shape = *shape;
  if (kind == H5T_STRING) {
    content.kind = "string";
    for (const std::string& text : read_texts()) append(content.bytes, text);
    return content;
  }
  content.kind = kind == H5T_INTEGER ? "integer" : "float";
  const hid_t integer =
      H5Tget_sign(type_.get()) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
  content.bytes.resize(8 * to_size(num_values_));
  if (num_values_ > 0)
    read(kind == H5T_INTEGER ? integer : H5T_NATIVE_DOUBLE, content.bytes.data());
  return content;
}

std::string AttributeView::type_text() const { return describe_type(type_.get()); }

std::string without_padding(std::string_view stored, H5T_str_t padding) {
  // A text ends at its first NUL whatever its padding is; only padding by blanks must be cut off,
  // too.
  std::string_view text = stored.substr(0, stored.find('\0'));
  if (padding == H5T_STR_SPACEPAD) {
    const auto last = text.find_last_not_of(' ');
    text = last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
  }
  return std::string(text);
}

std::vector<std::string> attribute_names(hid_t object, const Subject& subject,
                                         std::string_view path) {
  AttributeNames found;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &found), subject, path,
        "examined");
  if (found.too_many) {
    fail(subject, path, format("has more than {} attributes, which is refused", kMaxAttributes));
  }
  // The digest of a structure needs the order of bytes, whatever index HDF5 went through.
  std::ranges::sort(found.names);
  return std::move(found.names);
}

std::string attribute_text(const AttributeView& attribute) {
  const H5T_class_t type_class = attribute.type_class();
  if (attribute.num_values() == 1) {
    if (type_class == H5T_STRING) return printable(attribute.as_string());
    if (type_class == H5T_INTEGER) return attribute.integer_text();
  }
  constexpr std::int64_t kShown = 8;
  if (type_class == H5T_FLOAT && attribute.num_values() >= 1 && attribute.num_values() <= kShown) {
    return format("{}", fmt::join(attribute.as_doubles(), ", "));
  }
  return format("{}[{}]", attribute.type_text(), attribute.num_values());
}

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
    // Elements that are not read have a place in the digest, too, so nothing is refused here.
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
