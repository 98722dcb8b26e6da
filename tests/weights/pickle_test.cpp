// SPDX-License-Identifier: Apache-2.0
// Pickles that nobody means well with, and the corners of those that are well meant.
#include "pickle/pickle_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

using namespace std::literals;
using testing::HasSubstr;

// Reads one pickle and keeps what it gave.
struct Loaded {
  explicit Loaded(std::string text)
      : bytes(std::move(text)), root(PickleReader(bytes, arena).load()) {}
  std::string bytes;
  PickleArena arena;
  const PickleValue& root;
};

std::string refusal(std::string bytes) {
  try {
    Loaded loaded(std::move(bytes));
  } catch (const FormatError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(PickleTest, NumbersOfAllWidths) {
  const Loaded loaded(
      "\x80\x02(K\xffM\x01\x02J\xfe\xff\xff\xff\x8a\x00\x8a\x01\x80\x8a\x02\x00\x80"
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7ft."s);
  std::vector<std::int64_t> found;
  for (const auto* item : loaded.root.items) found.push_back(item->integer);
  EXPECT_THAT(found, testing::ElementsAre(255, 513, -2, 0, -128, -32768, INT64_MAX));
}

TEST(PickleTest, DictsKeepTheLastOfEqualKeys) {
  const Loaded loaded("}(X\1\0\0\0aK\1X\1\0\0\0aK\2u."s);
  ASSERT_NE(find(loaded.root, "a"), nullptr);
  EXPECT_EQ(find(loaded.root, "a")->integer, 2);
  EXPECT_EQ(find(loaded.root, "b"), nullptr);
}

TEST(PickleTest, Protocol4IsRead) {
  const Loaded loaded("\x80\x04\x95\x0c\0\0\0\0\0\0\0}\x94\x8c\1k\x94\x8c\1v\x94s."s);
  ASSERT_NE(find(loaded.root, "k"), nullptr);
  EXPECT_EQ(find(loaded.root, "k")->text, "v");
}

TEST(PickleTest, CallsAreKeptByNameOnly) {
  const Loaded loaded("cos\nsystem\n(X\4\0\0\0exittR."s);
  EXPECT_EQ(loaded.root.kind, PickleKind::object);
  EXPECT_EQ(description(loaded.root), "os.system");
}

std::string object_with_state(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n)\x81}X\1\0\0\0aK\7sb."s;
}

TEST(PickleTest, OnlyKnownClassesKeepTheirState) {
  for (const auto* module : {"types", "torch.distributed.checkpoint.metadatas"}) {
    EXPECT_TRUE(Loaded(object_with_state(module, "Metadata")).root.items.empty()) << module;
  }
  const std::string metadata = "torch.distributed.checkpoint.metadata";
  EXPECT_TRUE(Loaded(object_with_state(metadata, "Other")).root.items.empty());
  const Loaded loaded(object_with_state(metadata, "Metadata"));
  ASSERT_EQ(loaded.root.items.size(), 1u);
  EXPECT_EQ(find(*loaded.root.items.front(), "a")->integer, 7);
}

TEST(PickleTest, AStateThatIsItsOwnObjectIsHarmless) {
  const Loaded loaded("ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81q\0h\0b."s);
  EXPECT_EQ(loaded.root.items.at(0), &loaded.root);
}

TEST(PickleTest, AListThatHoldsItselfIsHarmless) {
  const Loaded loaded("]q\0h\0a."s);
  EXPECT_EQ(loaded.root.items.at(0), &loaded.root);
}

TEST(PickleTest, DeepNestingIsHarmless) {
  const std::size_t depth = 1'000'000;
  const Loaded loaded(std::string(depth, ']') + std::string(depth - 1, 'a') + ".");
  EXPECT_EQ(loaded.root.items.size(), 1u);
}

TEST(PickleTest, MultiplicationIsStopped) {
  // Each step doubles a list through the memo.
  std::string bytes = "]q\0("s + std::string(1000, 'N') + "e";
  bytes += "c__builtin__\nset\nq\1";
  for (int i = 0; i < 200'000; ++i) bytes += "h\1h\0\x85R"s;
  EXPECT_THAT(refusal(bytes + "."), HasSubstr("too many values"));
}

TEST(PickleTest, WhatIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("byte 0: it ends early"));
  EXPECT_THAT(refusal("K"), HasSubstr("it ends early"));
  EXPECT_THAT(refusal("."), HasSubstr("stack underflow"));
  EXPECT_THAT(refusal("K\1(0."s), HasSubstr("stack underflow"));
  EXPECT_THAT(refusal("t."), HasSubstr("no mark"));
  EXPECT_THAT(refusal("h\5."), HasSubstr("a reference to nothing"));
  EXPECT_THAT(refusal("X\xff\xff\xff\xff."s), HasSubstr("it ends early"));
  EXPECT_THAT(refusal("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s), HasSubstr("it ends early"));
  EXPECT_THAT(refusal("\x80\x09."s), HasSubstr("unknown protocol"));
  EXPECT_THAT(refusal("ios\nsystem\n."), HasSubstr("opcode 0x69"));
  EXPECT_THAT(refusal("K\1)R."s), HasSubstr("a call of something that is no class"));
  EXPECT_THAT(refusal("}(K\1u."s), HasSubstr("without a value"));
  EXPECT_THAT(refusal("cos\n"), HasSubstr("it ends early"));
  EXPECT_THAT(refusal("c" + std::string(2000, 'm') + "\nn\n."), HasSubstr("too long"));
  EXPECT_THAT(refusal("K\1Q."s), HasSubstr("a malformed storage"));
}

// ('storage', torch.FloatStorage, '0', 'cpu', numel) and a tensor of it.
std::string tensor(const std::string& numel, const std::string& offset, const std::string& shape,
                   const std::string& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
         "X\1\0\0\0"
         "0X\3\0\0\0cpu"s +
         numel + "tQ" + offset + shape + strides + "\x89NtR.";
}

TEST(PickleTest, TensorsStayInTheirStorage) {
  EXPECT_EQ(Loaded(tensor("K\6", "K\0"s, "K\2K\3\x86", "K\3K\1\x86")).root.kind,
            PickleKind::tensor);
  EXPECT_EQ(Loaded(tensor("K\1", "K\1", "K\0\x85"s, "K\1\x85")).root.kind, PickleKind::tensor);
  EXPECT_EQ(Loaded(tensor("K\0"s, "K\0"s, "K\0\x85"s, "K\1\x85")).root.kind, PickleKind::tensor);
  const auto past = HasSubstr("reaches past its storage");
  EXPECT_THAT(refusal(tensor("K\5", "K\0"s, "K\2K\3\x86", "K\3K\1\x86")), past);
  EXPECT_THAT(refusal(tensor("K\6", "K\1", "K\2K\3\x86", "K\3K\1\x86")), past);
  EXPECT_THAT(refusal(tensor("K\6", "K\7", "K\0\x85"s, "K\1\x85")), past);
  const auto huge = "\x8a\x08\0\0\0\0\0\0\0\x40"s;
  EXPECT_THAT(refusal(tensor("K\6", "K\0"s, huge + huge + "\x86", "K\1K\1\x86")),
              HasSubstr("impossible size"));
  EXPECT_THAT(refusal(tensor("K\6", "K\0"s, "K\2\x85", huge + "\x85")), HasSubstr("size"));
  EXPECT_THAT(refusal(tensor("K\6", "J\xff\xff\xff\xff", "K\2\x85", "K\1\x85")), past);
  EXPECT_THAT(refusal(tensor("K\6", "K\0"s, "K\2\x85", "J\xff\xff\xff\xff\x85")),
              HasSubstr("negative stride"));
  EXPECT_THAT(refusal(tensor("K\6", "K\0"s, "K\2\x85", "K\1K\1\x86")),
              HasSubstr("different length"));
}

}  // namespace
}  // namespace tally::weights
