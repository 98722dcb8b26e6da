// A zip archive in memory as PyTorch writes it: uncompressed entries under one folder.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::model {

// What the first bytes of every zip archive say.
bool looks_like_zip(std::span<const std::byte> bytes);
// Whether its end is there; if not, the file was cut short.
bool has_zip_end(std::span<const std::byte> bytes);

class Archive {
 public:
  // `bytes` outlive the archive. Throws FormatError if they are no archive of PyTorch.
  explicit Archive(std::span<const std::byte> bytes);
  ~Archive();

  // Names without the common folder: "data.pkl", "data/0".
  const std::vector<std::string>& entries() const { return entries_; }
  bool has(std::string_view entry) const;
  bool has_under(std::string_view folder) const;
  // The bytes of an entry where they lie. Throws FormatError if it is absent, compressed or
  // reaches past the end.
  std::span<const std::byte> entry(const std::string& name) const;

 private:
  struct Reader;
  std::span<const std::byte> bytes_;
  std::unique_ptr<Reader> reader_;
  std::vector<std::string> entries_;  // sorted
};

}  // namespace tally::model
