// SPDX-License-Identifier: Apache-2.0
// Reads what a checkpoint says of its tensors, so that one out of bounds is seen.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

#include "harness.hpp"

namespace tally::fuzz {

inline void read_parts(const weights::Checkpoint& checkpoint, const weights::ByteSource& bytes) {
  weights::describe(checkpoint);
  for (const auto& entry : checkpoint.tensors) {
    for (const auto& part : entry.second.parts) bytes.read(part.offset, part.num_bytes);
  }
}

// A checkpoint that is a folder, of which one file is the input; the others are those of
// companions/<folder>.
inline int read_folder(const std::string& folder, const std::string& file, std::string_view input) {
  namespace fs = std::filesystem;
  static const bool is_copied = [&] {
    fs::copy(fs::path(TALLY_FUZZ_COMPANIONS) / folder, folder, fs::copy_options::recursive);
    return true;
  }();
  require(is_copied, "the folder is there");
  write_input((folder + "/" + file).c_str(), input);
  return read_or_refuse({ErrorKind::model}, [&] {
    const auto found = weights::open_checkpoint(folder, {});
    weights::describe(found);
    for (const auto& entry : found.tensors) {
      for (const auto& part : entry.second.parts) {
        weights::FileSource(found.files.at(part.file).path).read(part.offset, part.num_bytes);
      }
    }
  });
}

}  // namespace tally::fuzz
