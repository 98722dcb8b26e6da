// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_fixture.hpp"

#include <cstring>
#include <fstream>

namespace tally::weights {
namespace {

// Calls visit(in the part, in the tensor) with the places of each element.
template <class Visit>
void for_each_element(const StoredPart& part, Visit visit) {
  const auto count = count_elements(part.shape);
  for (std::int64_t element = 0; element < count; ++element) {
    auto rest = element;
    std::int64_t from = 0;
    auto to = part.first_element;
    for (auto i = part.shape.size(); i-- > 0;) {
      const auto index = rest % part.shape[i];
      rest /= part.shape[i];
      from += index * part.strides[i];
      to += index * part.element_strides[i];
    }
    visit(to_size(from), to_size(to));
  }
}

std::vector<std::byte> widened(const std::vector<std::byte>& halves) {
  std::vector<std::byte> bytes(2 * halves.size());
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    std::memcpy(&bytes[2 * i + 2], &halves[i], 2);
  }
  return bytes;
}

}  // namespace

std::filesystem::path Folder::write(const std::string& name, std::string_view content) const {
  auto path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::vector<std::byte> assembled(const Checkpoint& checkpoint, const std::string& name) {
  const auto& tensor = checkpoint.tensors.at(name);
  const auto size = to_size(size_bytes(tensor.type));
  const auto count = to_size(count_elements(tensor.shape));
  std::vector<std::byte> bytes(count * size);
  std::vector<int> times(count);
  for (const auto& part : tensor.parts) {
    const FileSource file(checkpoint.files.at(part.file).path);
    const auto stored = file.read(part.offset, part.num_bytes);
    for_each_element(part, [&](std::size_t from, std::size_t to) {
      ASSERT_LT(to, count) << name;
      ASSERT_LE((from + 1) * size, stored.size()) << name;
      std::memcpy(&bytes[to * size], &stored[from * size], size);
      ++times[to];
    });
  }
  EXPECT_THAT(times, testing::Each(1)) << name;
  return bytes;
}

void check_same(const Checkpoint& checkpoint, const std::filesystem::path& expected_path) {
  const auto expected = open_checkpoint(expected_path, {});
  ASSERT_FALSE(expected.tensors.empty());
  EXPECT_EQ(checkpoint.tensors.size(), expected.tensors.size());
  for (const auto& [name, wanted] : expected.tensors) {
    ASSERT_TRUE(checkpoint.tensors.contains(name)) << name;
    const auto& found = checkpoint.tensors.at(name);
    EXPECT_EQ(found.shape, wanted.shape) << name;
    auto bytes = assembled(checkpoint, name);
    if (found.type == ElementType::bf16 && wanted.type == ElementType::f32) {
      bytes = widened(bytes);
    } else {
      EXPECT_EQ(found.type, wanted.type) << name;
    }
    EXPECT_EQ(bytes, assembled(expected, name)) << name;
  }
}

}  // namespace tally::weights
