#include <tally/weights/transfer_pieces.hpp>

#include <algorithm>
#include <tuple>

namespace tally::weights {
namespace {

// Reading a few bytes too many is cheaper than reading twice.
constexpr std::uint64_t kLargestGap = 4096;

std::vector<Piece::Content> all_contents(const Checkpoint& checkpoint,
                                         const std::vector<std::string>& names) {
  std::vector<Piece::Content> all;
  for (const auto& name : names) {
    const auto found = checkpoint.tensors.find(name);
    for (const auto& part : found->second.parts) all.push_back({&found->first, &part});
  }
  std::ranges::sort(all, {}, [](const Piece::Content& content) {
    const auto& part = *content.part;
    return std::tuple(part.file, part.offset, part.num_bytes);
  });
  return all;
}

bool joins(const Piece& piece, const StoredPart& part, std::uint64_t most_bytes) {
  if (part.file != piece.file) return false;
  const auto end = piece.offset + piece.num_bytes;
  if (part.offset > end && part.offset - end >= kLargestGap) return false;
  return part.offset + part.num_bytes <= std::max(end, piece.offset + most_bytes);
}

}  // namespace

std::vector<Piece> plan_pieces(const Checkpoint& checkpoint, const std::vector<std::string>& names,
                               std::uint64_t most_bytes) {
  std::vector<Piece> pieces;
  for (const auto& content : all_contents(checkpoint, names)) {
    const auto& part = *content.part;
    if (pieces.empty() || !joins(pieces.back(), part, most_bytes)) {
      pieces.push_back({part.file, part.offset, 0, {}});
    }
    auto& piece = pieces.back();
    piece.num_bytes = std::max(piece.num_bytes, part.offset + part.num_bytes - piece.offset);
    piece.contents.push_back(content);
  }
  return pieces;
}

}  // namespace tally::weights
