#include "schema/structure_digest.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include <tally/base/format.hpp>
#include <tally/digest/digest.hpp>

#include "dataset_error.hpp"
#include "schema/schema.hpp"

namespace tally::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as they lie here");

constexpr std::size_t kShownDigits = 16;
constexpr std::string_view kClassNames = "/class_names";

// Each field is preceded by its length: no two structures give the same bytes.
class Fields {
 public:
  void add(std::span<const std::byte> field) {
    const std::uint64_t length = field.size();
    hash_.update(std::as_bytes(std::span(&length, 1)));
    hash_.update(field);
  }
  void add(std::string_view field) { add(std::as_bytes(std::span(field))); }
  void add(const Shape& shape) { add(std::as_bytes(std::span(shape))); }
  std::string hex() const { return hash_.hex(); }

 private:
  digest::Sha256 hash_;
};

void add_object(Fields& fields, const hdf5::Reader& file, const std::string& path) {
  const hdf5::ObjectContent object = file.content_of(path);
  fields.add("object");
  fields.add(path);
  fields.add(object.element);
  fields.add(object.shape);
  for (const hdf5::AttributeContent& attribute : object.attributes) {
    fields.add("attribute");
    fields.add(attribute.name);
    fields.add(attribute.kind);
    fields.add(attribute.shape);
    fields.add(attribute.bytes);
  }
  if (path != kClassNames || object.element != hdf5::name(hdf5::Element::text)) return;
  for (const std::string& text : file.dataset(path).read_strings()) {
    fields.add("string");
    fields.add(text);
  }
}

}  // namespace

std::vector<std::string> covered_paths(const hdf5::Reader& file) {
  std::vector<std::string> paths{"/"};
  if (file.exists(kClassNames)) paths.emplace_back(kClassNames);
  const std::string tables = format("{}/", kChecksums);
  for (const std::string& path : file.all_paths()) {
    if (!path.starts_with(tables) || file.kind_of(path) != hdf5::ObjectKind::dataset) continue;
    paths.push_back(path.substr(kChecksums.size()));
  }
  std::ranges::sort(paths);
  return paths;
}

std::string structure_digest(const hdf5::Reader& file, const std::vector<std::string>& paths) {
  Fields fields;
  for (const std::string& path : paths) add_object(fields, file, path);
  return fields.hex();
}

bool check_structure(const hdf5::Reader& file) {
  if (!file.exists(kChecksums) || !file.has_attribute(kChecksums, kStructureDigest)) return false;
  const std::string expected = file.string_attribute(kChecksums, kStructureDigest);
  const std::string found = structure_digest(file, covered_paths(file));
  if (found == expected) return true;
  throw_dataset_error(
      file.path(), "",
      format("was changed or damaged: its attributes, names and shapes have the SHA-256 {}…, "
             "expected {}… (read)",
             found.substr(0, kShownDigits), shown(expected.substr(0, kShownDigits))),
      "Copy or prepare it again. If it was changed on purpose, remove the attribute "
      "structure_sha256 of /checksums, then 'tally inspect FILE --add-checksums OUT'.");
}

}  // namespace tally::data
