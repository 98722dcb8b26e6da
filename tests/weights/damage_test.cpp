// SPDX-License-Identifier: Apache-2.0
// One changed bit of what is read is seen, wherever it lies.
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_pieces_and_crc32.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/write_safetensors.hpp>
#include <tally/weights/zip_archive.hpp>

#include <map>
#include <random>

#include "checkpoint_fixture.hpp"

namespace tally::weights {
namespace {

using testing::HasSubstr;

using Tensors = std::map<std::string, std::vector<std::vector<std::byte>>>;  // parts by name

std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const auto& entry : checkpoint.tensors) names.push_back(entry.first);
  return names;
}

// As an evaluation reads them, in pieces of `most_bytes`.
Tensors read_all(const std::string& text, std::uint64_t most_bytes) {
  const MemorySource source(as_bytes(text));
  const auto checkpoint = read_checkpoint(source, "weights", {});
  const auto pieces = plan_pieces(checkpoint, names_of(checkpoint), most_bytes);
  EntryCheck check(pieces, [&](std::size_t, std::uint64_t offset, std::uint64_t num_bytes) {
    return source.read(offset, num_bytes);
  });
  Tensors tensors;
  for (const auto& piece : pieces) {
    const auto bytes = source.read(piece.offset, piece.num_bytes);
    check.add(piece, bytes);
    for (const auto& content : piece.contents) {
      const auto first =
          bytes.begin() + static_cast<std::ptrdiff_t>(content.part->offset - piece.offset);
      tensors[*content.name].emplace_back(
          first, first + static_cast<std::ptrdiff_t>(content.part->num_bytes));
    }
  }
  check.finish();
  return tensors;
}

struct Flips {
  int refused = 0, same = 0, other = 0;
};

Flips flip_bits(const std::string& original, int num_flips, std::uint64_t most_bytes) {
  const auto expected = read_all(original, most_bytes);
  EXPECT_FALSE(expected.empty());
  std::mt19937 random(24);
  Flips flips;
  for (int i = 0; i < num_flips; ++i) {
    auto text = original;
    const auto at = random() % text.size();
    text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
    try {
      ++(read_all(text, most_bytes) == expected ? flips.same : flips.other);
    } catch (const FormatError&) {
      ++flips.refused;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++flips.refused;
    }
  }
  return flips;
}

class DamageTest : public testing::TestWithParam<const char*> {};

TEST_P(DamageTest, NoBitMakesOtherTensors) {
  const FixtureFile file(GetParam());
  for (const std::uint64_t most_bytes : {std::uint64_t{64} << 20, std::uint64_t{1}}) {
    const auto flips = flip_bits(std::string(as_text(file.bytes)), 1000, most_bytes);
    EXPECT_EQ(flips.other, 0);
    EXPECT_GT(flips.refused, 300);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DamageTest,
                         testing::Values("state_dict.pth", "nested.pth", "slices.pth"));

TEST(DamageTest, OfAStorageAlsoWhatNoTensorShows) {
  const FixtureFile file("slices.pth");
  const std::string text(as_text(file.bytes));
  const auto checkpoint = read_checkpoint(MemorySource(file.bytes), "slices.pth", {});
  for (const auto& [name, tensor] : checkpoint.tensors) {
    for (const auto& part : tensor.parts) {
      ASSERT_GT(part.entry.num_bytes, 0U);
      auto damaged = text;
      damaged[part.entry.offset + part.entry.num_bytes - 1] ^= 1;
      EXPECT_THROW(read_all(damaged, 1 << 20), CutShort) << name;
    }
  }
}

TEST(DamageTest, EveryEntryOfAnArchiveIsCompared) {
  const FixtureFile file("net.pt");
  const MemorySource intact(file.bytes);
  Archive(intact).check();
  auto bytes = file.bytes;
  const auto place = Archive(intact).place("data.pkl");
  bytes[place.offset + place.num_bytes / 2] ^= std::byte{4};
  const MemorySource damaged(bytes);
  try {
    Archive(damaged).check();
    FAIL();
  } catch (const CutShort& error) {
    EXPECT_THAT(error.what(), HasSubstr("the CRC-32 of entry 'data.pkl' is "));
  }
}

TEST(DamageTest, AnArchiveCutWithinItsLastRecordIsCutShort) {
  const FixtureFile file("state_dict.pth");
  constexpr std::size_t kEndBytes = 22;
  for (std::size_t lacking = 1; lacking <= kEndBytes; ++lacking) {
    const MemorySource cut(std::span(file.bytes).first(file.bytes.size() - lacking));
    EXPECT_FALSE(has_zip_end(cut)) << lacking;
    EXPECT_THROW(Archive{cut}, CutShort) << lacking;
  }
  EXPECT_TRUE(has_zip_end(MemorySource(file.bytes)));
}

TEST(DamageTest, ChunksOfDistributedCheckpointsAreCompared) {
  const Folder folder;
  folder.copy(checkpoint_path("dcp-2/flat"));
  const auto write = [&] {
    const auto checkpoint = open_checkpoint(folder.path(), {});
    std::map<std::string, std::string> names;
    for (const auto& name : names_of(checkpoint)) names.emplace(name, name);
    write_safetensors(checkpoint, names, folder.path() / "all.safetensors");
    return checkpoint;
  };
  const auto checkpoint = write();
  check_same(open_checkpoint(folder.path() / "all.safetensors", {}),
             checkpoint_path("dcp-2/flat.expected.safetensors"));
  std::filesystem::remove(folder.path() / "all.safetensors");
  const auto& part = checkpoint.tensors.at("conv.weight").parts.front();
  const auto& path = checkpoint.files.at(part.file).path;
  auto bytes = read_file(path, ErrorKind::model, "fixture");
  bytes[part.offset + 5] ^= std::byte{16};
  folder.write(std::filesystem::path(path).filename(), as_text(bytes));
  EXPECT_THAT(error_of(ErrorKind::model, write), HasSubstr("tensor 'conv.weight': the CRC-32 of"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "all.safetensors"));
}

}  // namespace
}  // namespace tally::weights
