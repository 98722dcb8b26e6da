// SPDX-License-Identifier: Apache-2.0
// Plans the pieces in which the bytes of a checkpoint are read and handed round, and checks their
// CRC-32 meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
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

// Compares the CRC-32 of what zip archives hold while the bytes of a checkpoint come by.

// Of the archive entries of which some part lies in the pieces. What the pieces do not hold of an
// entry is read for it: parts need not cover the storage that they are views of.
class EntryCheck {
 public:
  // Bytes of one of the checkpoint's files.
  using Read = std::function<std::vector<std::byte>(std::size_t file, std::uint64_t offset,
                                                    std::uint64_t num_bytes)>;

  // pieces: of plan_pieces().
  EntryCheck(const std::vector<Piece>& pieces, Read read);

  // Each piece in its turn. Throws CutShort naming a tensor of an entry that is damaged.
  void add(const Piece& piece, std::span<const std::byte> bytes);
  // Behind the last piece; throws as add().
  void finish();

 private:
  struct Entry {
    std::size_t file = 0;
    StoredEntry place;
    std::string tensor;  // that lies in it
  };

  void take(std::span<const std::byte> bytes);  // the next ones of the current entry
  void read_until(std::uint64_t end);           // reads these, up to byte `end` of the file
  void complete();                              // reads the rest, compares, goes to the next entry

  Read read_;
  std::vector<Entry> entries_;  // by file and offset
  std::size_t current_ = 0;     // of the entries, all before which are checked
  std::uint64_t done_ = 0;      // bytes of it
  std::uint32_t crc32_ = 0;     // of these
};

}  // namespace tally::weights
