// SPDX-License-Identifier: Apache-2.0
// Weights in several files with an index.
#include <fstream>

#include <tally/base/byte_conversions.hpp>

#include "checkpoint_fixture.hpp"
#include "safetensors/shards.hpp"

namespace tally::weights {
namespace {

using testing::HasSubstr;

// A safetensors file of u8 tensors of one element, whose value is the name's first letter.
std::string bytes_named(const std::vector<std::string>& names) {
  std::string header = "{";
  std::string data;
  for (const auto& name : names) {
    const auto at = std::to_string(data.size());
    header += (data.empty() ? "\"" : ",\"") + name + R"(":{"dtype":"U8","shape":[1],)" +
              R"("data_offsets":[)" + at + "," + std::to_string(data.size() + 1) + "]}";
    data += name.front();
  }
  header += "}";
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data;
}

std::string index_of(const std::string& weight_map) {
  return R"({"weight_map":)" + weight_map + "}";
}

std::string refusal(const std::filesystem::path& path) {
  return error_of(ErrorKind::model, [&] { open_checkpoint(path, {}); });
}

TEST(ShardsTest, AreReadAsByTheirOwnLoader) {
  for (const auto* name : {"shards", "bin_shards"}) {
    const auto folder = checkpoint_path(name);
    const auto checkpoint = open_checkpoint(folder, {});
    EXPECT_GT(checkpoint.files.size(), 2u);
    EXPECT_EQ(checkpoint.path, folder);
    check_same(checkpoint, checkpoint_path(std::string(name) + ".expected.safetensors"));
  }
}

TEST(ShardsTest, AreGivenByTheirIndexToo) {
  const auto index = checkpoint_path("shards/model.safetensors.index.json");
  const auto checkpoint = open_checkpoint(index, {});
  check_same(checkpoint, checkpoint_path("shards.expected.safetensors"));
  EXPECT_THAT(describe(checkpoint).at(0), HasSubstr(" safetensors files with an index: "));
  const auto pickled = checkpoint_path("bin_shards/pytorch_model.bin.index.json");
  EXPECT_THAT(open_checkpoint(pickled, {}).kind, HasSubstr(" PyTorch files with an index"));
}

TEST(ShardsTest, TensorsThatTheIndexDoesNotNameAreTaken) {
  const Folder folder;
  folder.write("1", bytes_named({"a", "x", "z"}));
  folder.write("2", bytes_named({"b", "x"}));
  const auto index = folder.write("m.index.json", index_of(R"({"a":"1","b":"2","x":"2"})"));
  const auto checkpoint = open_checkpoint(index, {});
  ASSERT_EQ(checkpoint.tensors.size(), 4u);
  EXPECT_EQ(checkpoint.tensors.at("x").parts.front().file, 1u);
  EXPECT_EQ(assembled(checkpoint, "z"), std::vector{std::byte{'z'}});
}

TEST(ShardsTest, LinksAreFollowed) {
  const Folder folder;
  const auto blob = folder.write("blobs/1", bytes_named({"a"}));
  const auto index = folder.write("snapshot/m.index.json", index_of(R"({"a":"1"})"));
  std::filesystem::create_symlink(blob, folder.path() / "snapshot/1");
  EXPECT_EQ(assembled(open_checkpoint(index, {}), "a"), std::vector{std::byte{'a'}});
}

TEST(ShardsTest, WhatIsRefused) {
  const Folder folder;
  folder.write("1", bytes_named({"a", "x"}));
  folder.write("2", bytes_named({"b", "x"}));
  const auto refused = [&](const std::string& text) {
    return refusal(folder.write("m.index.json", text));
  };
  EXPECT_THAT(refused(index_of(R"({"a":"1","b":"3"})")), HasSubstr("its shard '3' is missing"));
  EXPECT_THAT(refused(index_of(R"({"b":"1"})")),
              HasSubstr("/1' cannot be read (it has no tensor 'b', which the index says"));
  EXPECT_THAT(refused(index_of(R"({"a":"1","b":"1","x":"2"})")),
              HasSubstr("/1' cannot be read (it has no tensor 'b', which the index says"));
  EXPECT_THAT(refused(index_of(R"({"a":"1","b":"2"})")), HasSubstr("'x' is in two files"));
  for (const auto* name : {"../1", "/etc/passwd", "s/1", "", "..", ".", "1\\u0000"}) {
    EXPECT_THAT(refused(index_of(R"({"a":")" + std::string(name) + "\"}")),
                HasSubstr("which is no name of a file beside it"));
  }
  EXPECT_THAT(refused(index_of(R"({"a":1})")), HasSubstr("tensor 'a' is in no file"));
  for (const auto* text :
       {"", "{", "[]", "3", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})"}) {
    EXPECT_THAT(refused(text), HasSubstr("it is no index")) << text;
  }
  EXPECT_THAT(refused(R"({"a":)" + std::string(1'000'000, '[')), HasSubstr("nested too deeply"));
  folder.write("3", "text");
  EXPECT_THAT(refused(index_of(R"({"a":"3"})")), HasSubstr("/3' is a text file"));
}

TEST(ShardsTest, NamesInMessagesArePrintable) {
  const Folder folder;
  folder.write("1", bytes_named({"a"}));
  EXPECT_THAT(refusal(folder.write("m.index.json", index_of(R"({"b\u0000\n":"1"})"))),
              HasSubstr(R"(it has no tensor 'b\x00\x0a', which the index says it has)"));
}

TEST(ShardsTest, AHugeIndexIsNotRead) {
  const Folder folder;
  const auto index = folder.write("m.index.json", "{");
  std::filesystem::resize_file(index, std::uint64_t{1} << 40);
  EXPECT_THAT(refusal(index), HasSubstr("it has 1099511627776 bytes"));
}

}  // namespace
}  // namespace tally::weights
