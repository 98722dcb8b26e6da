// What of a data set file the tables of checksums do not cover, as one digest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::data {

// Of the group of tables.
inline constexpr std::string_view kStructureDigest = "structure_sha256";

// Ascending: the root, the class names, and every dataset that has a table. Objects that are added
// to a file beside these do not change its digest.
std::vector<std::string> covered_paths(const hdf5::Reader& file);

// SHA-256, as hexadecimal digits, of paths, types, shapes and attributes of these objects, and of
// the class names. data_tools/SCHEMA.md says of which bytes. Throws Error(dataset).
std::string structure_digest(const hdf5::Reader& file, const std::vector<std::string>& paths);

// Whether the file has a digest; throws Error(dataset) where it is not that of the structure.
bool check_structure(const hdf5::Reader& file);

}  // namespace tally::data
