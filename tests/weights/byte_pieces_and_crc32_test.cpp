// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/byte_pieces_and_crc32.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::weights {
namespace {

using testing::ElementsAre;

StoredTensor bytes_at(std::size_t file, std::uint64_t offset, std::int64_t num_bytes) {
  auto tensor = whole_tensor(ElementType::u8, {num_bytes}, {1}, offset);
  for (auto& part : tensor.parts) part.file = file;
  return tensor;
}

// "file: first..end names"
std::vector<std::string> texts(const Checkpoint& checkpoint, std::uint64_t most_bytes) {
  std::vector<std::string> names;
  for (const auto& entry : checkpoint.tensors) names.push_back(entry.first);
  std::vector<std::string> found;
  for (const auto& piece : plan_pieces(checkpoint, names, most_bytes)) {
    auto text = std::to_string(piece.file) + ": " + std::to_string(piece.offset) + ".." +
                std::to_string(piece.offset + piece.num_bytes);
    for (const auto& content : piece.contents) text += " " + *content.name;
    found.push_back(text);
  }
  return found;
}

TEST(PiecesTest, GoByFileAndPlace) {
  Checkpoint checkpoint;
  checkpoint.tensors = {{"a", bytes_at(1, 0, 10)},
                        {"b", bytes_at(0, 50, 10)},
                        {"c", bytes_at(0, 0, 30)},
                        {"none", bytes_at(0, 0, 0)}};
  EXPECT_THAT(texts(checkpoint, 1000), ElementsAre("0: 0..60 c b", "1: 0..10 a"));
  EXPECT_THAT(texts(checkpoint, 40), ElementsAre("0: 0..30 c", "0: 50..60 b", "1: 0..10 a"));
}

TEST(PiecesTest, AreNoLargerThanAskedUnlessAPartIs) {
  Checkpoint checkpoint;
  checkpoint.tensors = {
      {"a", bytes_at(0, 0, 100)}, {"b", bytes_at(0, 100, 5)}, {"c", bytes_at(0, 105, 5)}};
  EXPECT_THAT(texts(checkpoint, 10), ElementsAre("0: 0..100 a", "0: 100..110 b c"));
}

TEST(PiecesTest, PassOverWhatIsNotAskedFor) {
  Checkpoint checkpoint;
  checkpoint.tensors = {{"a", bytes_at(0, 0, 8)}, {"z", bytes_at(0, 100'000, 8)}};
  EXPECT_THAT(texts(checkpoint, 1 << 20), ElementsAre("0: 0..8 a", "0: 100000..100008 z"));
}

TEST(PiecesTest, SharedBytesComeOnce) {
  Checkpoint checkpoint;
  checkpoint.tensors = {
      {"tied", bytes_at(0, 0, 8)}, {"twin", bytes_at(0, 0, 8)}, {"view", bytes_at(0, 2, 4)}};
  EXPECT_THAT(texts(checkpoint, 4), ElementsAre("0: 0..8 tied twin view"));
}

}  // namespace
}  // namespace tally::weights
