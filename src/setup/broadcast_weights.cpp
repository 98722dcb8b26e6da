// SPDX-License-Identifier: Apache-2.0
#include "broadcast_weights.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/trace/span_recording.hpp>
#include <tally/weights/byte_pieces_and_crc32.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::app {
namespace {

using weights::Checkpoint;
using weights::Piece;

// Weights are read and broadcast in pieces of this size. Bytes between them are hashed in smaller
// steps, because nothing else needs them.
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kHashedAtOnce = std::uint64_t{1} << 20;
constexpr double kSecondsBetweenLines = 10;

// Opens the files of a checkpoint one at a time, as they come.
class Files {
 public:
  explicit Files(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  std::vector<std::byte> read(std::size_t file, std::uint64_t offset, std::uint64_t num_bytes) {
    const auto& name = checkpoint_.files.at(file).path;
    // Rank 0 has opened the checkpoint, so that a failure here is most likely one of this node.
    try {
      if (!source_ || file != open_) source_ = std::make_unique<weights::FileSource>(name);
      open_ = file;
      return source_->read(offset, num_bytes);
    } catch (const weights::FormatError& error) {
      throw failure(name, error.what());
    } catch (const Error& error) {  // it cannot be opened, but rank 0 could
      throw failure(name, error.what());
    }
  }

 private:
  static Error failure(const std::string& name, const char* reason) {
    return {ErrorKind::model,
            printable(format("weights '{}' cannot be read on {} ({})", name, host_name(), reason)),
            "Does this node see the file? Was it changed meanwhile?"};
  }

  const Checkpoint& checkpoint_;
  std::unique_ptr<weights::FileSource> source_;
  std::size_t open_ = 0;
};

// Makes the SHA-256 of a whole file of which pieces come by in order, and reads what lies between
// them.
class FileDigest {
 public:
  FileDigest(Files& files, std::uint64_t num_bytes) : files_(files), num_bytes_(num_bytes) {}

  void add(const Piece& piece, std::span<const std::byte> bytes) {
    read_until(piece.offset);
    // Pieces may overlap where tensors share bytes: what is hashed already is left out.
    const auto known = std::min(done_ - piece.offset, piece.num_bytes);
    sha_.update(bytes.subspan(known));
    done_ += piece.num_bytes - known;
  }
  std::string hex() {
    read_until(num_bytes_);
    return sha_.hex();
  }

 private:
  void read_until(std::uint64_t end) {
    while (done_ < end) {
      const auto bytes = files_.read(0, done_, std::min(kHashedAtOnce, end - done_));
      sha_.update(bytes);
      done_ += bytes.size();
    }
  }

  Files& files_;
  std::uint64_t num_bytes_, done_ = 0;
  digest::Sha256 sha_;
};

// Shows a line every ten seconds where loading takes long.
class LoadingLines {
 public:
  LoadingLines(const Checkpoint& checkpoint, const std::vector<Piece>& pieces)
      : checkpoint_(checkpoint) {
    for (const auto& piece : pieces) total_ += piece.num_bytes;
  }
  void add(const Piece& piece) {
    done_ += piece.num_bytes;
    if (since_.elapsed_s() < kSecondsBetweenLines) return;
    since_ = {};
    log::note(format("weights '{}': {:.1f} of {:.1f} GB read", checkpoint_.path,
                     static_cast<double>(done_) * 1e-9, static_cast<double>(total_) * 1e-9));
  }

 private:
  const Checkpoint& checkpoint_;
  std::uint64_t total_ = 0, done_ = 0;
  Stopwatch since_;
};

void put(model::LoadedModel& loaded, const Piece& piece, std::span<const std::byte> bytes) {
  for (const auto& content : piece.contents) {
    const auto& part = *content.part;
    loaded.copy_tensor_part(*content.name, part,
                            bytes.subspan(part.offset - piece.offset, part.num_bytes));
  }
}

// Finds out on rank 0, from the bytes that come by, whether they are damaged, and, where they are
// of one file, its digest.
class Inspection {
 public:
  Inspection(Files& files, const Checkpoint& checkpoint, const std::vector<Piece>& pieces)
      : checkpoint_(checkpoint),
        check_(pieces, [&files](std::size_t file, std::uint64_t offset, std::uint64_t num_bytes) {
          return files.read(file, offset, num_bytes);
        }) {
    if (checkpoint.files.size() == 1) digest_.emplace(files, checkpoint.files.front().num_bytes);
  }

  void add(const Piece& piece, std::span<const std::byte> bytes) {
    guarded([&] { check_.add(piece, bytes); });
    if (digest_) digest_->add(piece, bytes);
  }
  // Returns the digest, or nothing where there are several files.
  std::string finish() {
    guarded([&] { check_.finish(); });
    return digest_ ? digest_->hex() : std::string();
  }

 private:
  template <class Step>
  void guarded(Step step) {
    try {
      step();
    } catch (const weights::FormatError& error) {
      throw Error(
          ErrorKind::model,
          printable(format("weights '{}' are damaged ({})", checkpoint_.path, error.what())),
          "Copy or download them again.");
    }
  }

  const Checkpoint& checkpoint_;
  weights::EntryCheck check_;
  std::optional<FileDigest> digest_;
};

// Collective. Gives the bytes of all pieces to every rank. In each round every rank reads one
// piece, so that all nodes read at the same time; then these are broadcast in order, as the digest
// and the checksums on rank 0 need them. Returns the file's digest where there is one file.
std::string share_pieces(const comm::Communicator& comm, const Checkpoint& checkpoint,
                         const std::vector<Piece>& pieces, model::LoadedModel& loaded) {
  Files files(checkpoint);
  std::optional<Inspection> inspection;
  if (comm.is_root()) inspection.emplace(files, checkpoint, pieces);
  LoadingLines lines(checkpoint, pieces);
  const auto world_size = to_size(comm.world_size());
  for (std::size_t first = 0; first < pieces.size(); first += world_size) {
    std::vector<std::byte> local;
    comm::agree_on(comm, [&] {
      const auto index = first + to_size(comm.rank());
      // In the last round some ranks have nothing to read, and still take part in what follows.
      if (index >= pieces.size()) return;
      const trace::Span span(trace::Kind::step, "read_weights");
      const auto& piece = pieces[index];
      local = files.read(piece.file, piece.offset, piece.num_bytes);
    });
    const auto end = std::min(first + world_size, pieces.size());
    for (auto index = first; index < end; ++index) {
      // The own piece is moved, not copied: a rank holds two pieces at most.
      auto bytes = index - first == to_size(comm.rank()) ? std::exchange(local, {})
                                                         : std::vector<std::byte>();
      comm.broadcast(bytes, checked_cast<int>(index - first));
      comm::agree_on(comm, [&] {
        put(loaded, pieces[index], bytes);
        if (inspection) inspection->add(pieces[index], bytes);
      });
      lines.add(pieces[index]);
    }
  }
  std::string hex;
  comm::agree_on(comm, [&] {
    loaded.commit();
    if (inspection) hex = inspection->finish();
  });
  // Only rank 0 has the digest.
  return comm.broadcast(hex);
}

// Collective. Each rank hashes some of the tensors. The lines are sorted before they are hashed, so
// that the digest does not depend on the number of ranks.
std::string digest_of_tensors(const comm::Communicator& comm, model::LoadedModel& loaded) {
  std::string local;
  comm::agree_on(comm, [&] {
    for (auto tensor = to_size(comm.rank()); tensor < loaded.num_tensors();
         tensor += to_size(comm.world_size())) {
      local += loaded.tensor_digest(tensor) + "\n";
    }
  });
  std::vector<std::string> lines;
  for (const auto& text : comm.gather(local)) {
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at) + 1;
      lines.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  std::ranges::sort(lines);
  digest::Sha256 all;
  for (const auto& line : lines) all.update(line);
  return comm.broadcast(all.hex());
}

}  // namespace

Checkpoint open_on_all(const comm::Communicator& comm, const std::string& path,
                       const std::string& key) {
  std::vector<std::byte> bytes;
  comm::agree_on(comm, [&] {
    // One rank reads the directories of the files, not all at once.
    const trace::Span span(trace::Kind::step, "open_checkpoint");
    if (comm.is_root()) bytes = weights::to_bytes(weights::open_checkpoint(path, key));
  });
  comm.broadcast(bytes);
  return weights::checkpoint_from_bytes(bytes);
}

SharedWeights broadcast_weights(const comm::Communicator& comm, const Checkpoint& checkpoint,
                                model::LoadedModel& loaded) {
  SharedWeights shared;
  std::vector<Piece> pieces;
  comm::agree_on(comm, [&] {
    auto fit = loaded.match_state_dict(checkpoint);
    shared.notes = std::move(fit.notes);
    pieces = weights::plan_pieces(checkpoint, fit.names, kPieceBytes);
  });
  shared.file.path = checkpoint.path;
  for (const auto& file : checkpoint.files) {
    shared.file.bytes += checked_cast<std::int64_t>(file.num_bytes);
  }
  shared.file.num_files = std::ssize(checkpoint.files);
  shared.file.sha256 = share_pieces(comm, checkpoint, pieces, loaded);
  shared.file.tensors_sha256 = digest_of_tensors(comm, loaded);
  return shared;
}

}  // namespace tally::app
