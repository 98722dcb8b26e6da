// SPDX-License-Identifier: Apache-2.0
// Pickles that name the same thing again and again take memory in proportion to their bytes only.
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_source.hpp>

#include "checkpoint_fixture.hpp"
#include "peak_memory.hpp"
#include "pickle/pickle_reader.hpp"

namespace tally::weights {
namespace {

using namespace std::literals;

std::string number(std::uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string text(const std::string& content) {
  return "X" + number(static_cast<std::uint32_t>(content.size())) + content;
}

std::string repeated(const std::string& part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

void expect_in_proportion(const std::string& what, std::size_t num_bytes, std::size_t peak) {
  EXPECT_LE(peak, 128 * num_bytes + PickleArena::kBaseBytes + (std::size_t{1} << 16)) << what;
  EXPECT_GT(peak, num_bytes) << what;  // that it was counted
}

// Whether it is read or refused, and where, is all the same here.
template <class Call>
std::size_t peak_of_any(Call call) {
  return peak_of([&] {
    try {
      call();
    } catch (const FormatError&) {
    } catch (const Error&) {
    }
  });
}

TEST(MemoryTest, OfPickles) {
  const auto names =
      text(std::string(500, 'm')) + "\x94" + text(std::string(490, 'n')) + "\x94" + "00";
  const auto two_in_memo = "\x80\x04" + names;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"one name of a class", two_in_memo + repeated("h\0h\1\x93"
                                                     "0"s,
                                                     50'000)},
      {"copies of a set", "c__builtin__\nset\nq\1](" + repeated("N", 1000) + "eq\0"s +
                              repeated("h\1h\0\x85R"s, 50'000)},
      {"memos", "]" + repeated("\x94", 300'000)},
      {"marks", repeated("(", 300'000)},
      {"constants", repeated("N", 300'000)},
      {"empty lists", repeated("]", 300'000)},
      {"one tuple of all", "(" + repeated("K\1", 300'000) + "t"},
  };
  for (const auto& [what, opcodes] : cases) {
    const auto bytes = opcodes + ".";
    expect_in_proportion(what, bytes.size(), peak_of_any([&] {
                           PickleArena arena;
                           PickleReader(bytes, arena).load();
                         }));
  }
}

TEST(MemoryTest, ManySmallValuesAreRead) {
  for (const auto* value : {")", "]\x94", "}\x94"}) {
    const auto bytes = "(" + repeated(value, 500'000) + "l.";
    PickleArena arena;
    EXPECT_EQ(PickleReader(bytes, arena).load().items.size(), 500'000u) << value;
  }
}

// The Metadata of torch.distributed with these three dicts.
std::string metadata(const std::string& tensors, const std::string& paths,
                     const std::string& places) {
  return "\x80\x04"
         "ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81}("s +
         text("state_dict_metadata") + "}(" + tensors + "u" + text("planner_data") + "}(" + paths +
         "u" + text("storage_data") + "}(" + places + "uub.";
}

std::string name_of(std::uint32_t i) { return text("n" + std::to_string(i)); }

// Entries that all have the same path of 64 keys.
std::string shared_path(std::uint32_t num_entries) {
  std::string tensors;
  std::string paths;
  for (std::uint32_t i = 0; i < num_entries; ++i) {
    tensors += name_of(i) + "r" + number(i) + "N";
    const auto path = "(" + repeated("J" + number(0x8ace0000), 64) + "t";
    paths +=
        "j" + number(i) + (i == 0 ? path + "r" + number(num_entries) : "j" + number(num_entries));
  }
  return metadata(tensors, paths, "");
}

// Entries with a path each, of keys that are named again and again.
std::string own_paths(std::uint32_t num_entries) {
  std::string tensors = text("k") +
                        "q\0"
                        "0"s;
  std::string paths;
  for (std::uint32_t i = 0; i < num_entries; ++i) {
    tensors += name_of(i) + "r" + number(i + 1) + "N";
    paths += "j" + number(i + 1) + "(j" + number(i + 1) + repeated("h\0"s, 60) + "t";
  }
  return metadata(tensors, paths, "");
}

// A tensor that has one chunk again and again.
std::string shared_chunk(int times) {
  const auto made = [](const std::string& name, const std::string& state) {
    return "ctorch.distributed.checkpoint.metadata\n" + name + "\n)\x81}(" + state + "ub";
  };
  const auto sizes = "(" + repeated("K\1", 60) + "tq\1";
  const auto chunk = made("ChunkStorageMetadata", text("offsets") + sizes + text("sizes") + "h\1");
  const auto properties = "ctorch.distributed.checkpoint.metadata\nTensorProperties\n)\x81(" +
                          text("torch.float32") + "tb";
  return metadata(
      text("a") + made("TensorStorageMetadata", text("properties") + properties + text("size") +
                                                    "(tq\3" + text("chunks") + "](" + chunk +
                                                    "q\2" + repeated("h\2", times) + "e"),
      "", "");
}

TEST(MemoryTest, OfMetadata) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a path of all entries", shared_path(20'000)},
      {"paths of one key", own_paths(5'000)},
      {"a chunk of a tensor", shared_chunk(100'000)},
      {"an entry", metadata(text("a") + "q\0N"s + repeated("h\0N"s, 100'000), "", "")},
  };
  for (const auto& [what, bytes] : cases) {
    const Folder folder;
    folder.write(".metadata", bytes);
    expect_in_proportion(what, bytes.size(),
                         peak_of_any([&] { open_checkpoint(folder.path(), {}); }));
  }
}

}  // namespace
}  // namespace tally::weights
