// In which pieces the bytes of a checkpoint are read and handed round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

// A run of bytes of one file, and what lies in it.
struct Piece {
  struct Content {
    const std::string* name = nullptr;  // of a tensor, in the checkpoint
    const StoredPart* part = nullptr;
  };
  std::size_t file = 0;
  std::uint64_t offset = 0, num_bytes = 0;
  std::vector<Content> contents;
};

// All parts of these tensors, each whole in one piece, by file and place. A piece has at most
// `most_bytes` unless a part alone has more; of bytes between parts it holds what is less than a
// page. `checkpoint` outlives the pieces.
std::vector<Piece> plan_pieces(const Checkpoint& checkpoint, const std::vector<std::string>& names,
                               std::uint64_t most_bytes);

}  // namespace tally::weights
