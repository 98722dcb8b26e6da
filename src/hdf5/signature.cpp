#include <tally/hdf5/signature.hpp>

#include <array>
#include <fstream>
#include <string_view>

namespace tally::hdf5 {

bool is_hdf5_file(const std::filesystem::path& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kSignature.size()> head{};
  file.read(head.data(), head.size());
  return std::string_view(head.data(), head.size()) == kSignature;
}

}  // namespace tally::hdf5
