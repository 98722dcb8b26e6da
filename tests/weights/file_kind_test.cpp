// SPDX-License-Identifier: Apache-2.0
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/file_kind.hpp>

#include "fixture_file.hpp"

namespace tally::weights {
namespace {

using namespace std::literals;

TEST(ProbeTest, KindsAreFoundFromTheBytes) {
  const std::vector<std::pair<std::string, FileKind>> cases{
      {"net.pt", FileKind::torchscript},
      {"net_frozen.pt", FileKind::torchscript},
      {"package.pt2", FileKind::aoti_package},
      {"state_dict.pth", FileKind::state_dict},
      {"whole_module.pth", FileKind::state_dict},
      {"legacy.pth", FileKind::legacy_checkpoint},
      {"weights.safetensors", FileKind::safetensors},
      {"unaligned.safetensors", FileKind::safetensors},
      {"set.h5", FileKind::hdf5},
      {"archive.zip", FileKind::other},
      {"cut_net.pt", FileKind::other},
      {"empty", FileKind::other},
      {"text.txt", FileKind::other},
      {"card.json", FileKind::other},
      {"picture.png", FileKind::other}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(probe(FixtureFile(name).bytes), kind) << name;
}

TEST(ProbeTest, Hdf5BehindAUserBlock) {
  const FixtureFile set("set.h5");
  std::vector<std::byte> bytes(1024);
  bytes.insert(bytes.end(), set.bytes.begin(), set.bytes.end());
  EXPECT_EQ(probe(bytes), FileKind::hdf5);
}

TEST(ProbeTest, ASafetensorsFileMayHoldNothing) {
  EXPECT_EQ(probe(as_bytes("\2\0\0\0\0\0\0\0{}"sv)), FileKind::safetensors);
  EXPECT_EQ(probe(as_bytes("\1\0\0\0\0\0\0\0{}"sv)), FileKind::other);
}

TEST(ProbeTest, AnyBeginningOfAnyFileIsProbed) {
  for (const auto* name : {"net.pt", "state_dict.pth", "legacy.pth", "weights.safetensors"}) {
    const FixtureFile file(name);
    for (std::size_t size = 0; size < file.bytes.size(); size += 1 + size / 7) {
      probe(std::span(file.bytes).first(size));
    }
  }
}

TEST(DescriptionTest, HasAnArticle) {
  EXPECT_EQ(description(FileKind::torchscript), "a TorchScript model");
  EXPECT_EQ(description(FileKind::hdf5), "an HDF5 file");
}

}  // namespace
}  // namespace tally::weights
