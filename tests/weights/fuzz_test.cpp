// SPDX-License-Identifier: Apache-2.0
// Damaged weights files are read or refused, never anything else.
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>
#include <tally/weights/zip_archive.hpp>

#include "checkpoint_fixture.hpp"
#include "mutator.hpp"
#include "pickle/pickle_reader.hpp"

namespace tally::weights {
namespace {

// Touches every byte of every tensor, so that one out of bounds is seen.
void read_all(const std::string& name, const std::string& text) {
  const MemorySource bytes(as_bytes(text));
  const auto checkpoint = read_checkpoint(bytes, name, {});
  for (const auto& entry : checkpoint.tensors) {
    for (const auto& part : entry.second.parts) bytes.read(part.offset, part.num_bytes);
  }
}

int refused_of(const std::string& name, const std::string& original, int num_rounds) {
  Mutator mutator(static_cast<unsigned>(original.size()));
  int refused = 0;
  for (int round = 0; round < num_rounds; ++round) {
    const auto text = mutator.damage(original);
    try {
      read_all(name, text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
    }
  }
  return refused;
}

TEST(FuzzTest, Pickles) {
  for (const auto* name : {"state_dict.pth", "nested.pth", "parameters.pth"}) {
    const FixtureFile file(name);
    const MemorySource bytes(file.bytes);
    const std::string original(as_text(Archive(bytes).content("data.pkl")));
    Mutator mutator(5);
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      const auto text = mutator.damage(original);
      try {
        PickleArena arena;
        PickleReader(text, arena).load();
      } catch (const FormatError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 500) << name;
  }
}

// Of a folder, with one of its files damaged.
int refused_of_folder(const std::string& checkpoint, const std::string& file, int num_rounds) {
  const Folder folder;
  folder.copy(checkpoint_path(checkpoint));
  const auto bytes = read_file(folder.path() / file, ErrorKind::model, "fixture");
  Mutator mutator(static_cast<unsigned>(bytes.size()));
  int refused = 0;
  for (int round = 0; round < num_rounds; ++round) {
    folder.write(file, mutator.damage(std::string(as_text(bytes))));
    try {
      const auto found = open_checkpoint(folder.path(), {});
      for (const auto& entry : found.tensors) {
        for (const auto& part : entry.second.parts) {
          FileSource(found.files.at(part.file).path).read(part.offset, part.num_bytes);
        }
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model) << error.what();
      ++refused;
    }
  }
  return refused;
}

TEST(FuzzTest, Folders) {
  EXPECT_GT(refused_of_folder("shards", "model.safetensors.index.json", 500), 100);
  EXPECT_GT(refused_of_folder("dcp-2/flat", ".metadata", 1000), 100);
  EXPECT_GT(refused_of_folder("dcp-2/flat", "__0_0.distcp", 500), 50);
  EXPECT_GT(refused_of_folder("deepspeed-2/stage2_frozen/global_step3",
                              "mp_rank_00_model_states.pt", 500),
            50);
  const auto* optimizer = "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
  EXPECT_GT(refused_of_folder("deepspeed-2/stage2_bf16/global_step3", optimizer, 500), 50);
  EXPECT_GT(refused_of_folder("deepspeed-2/stage3_bf16/global_step3", optimizer, 500), 50);
}

class FileFuzzTest : public testing::TestWithParam<const char*> {};

TEST_P(FileFuzzTest, WholeFiles) {
  const FixtureFile file(GetParam());
  EXPECT_GT(refused_of(file.name, std::string(as_text(file.bytes)), 1500), 100);
}

// Damage where the structure is, not in the weights' bytes.
TEST_P(FileFuzzTest, BothEnds) {
  const FixtureFile file(GetParam());
  const auto text = as_text(file.bytes);
  Mutator mutator(9);
  const auto end = std::min<std::size_t>(2500, text.size() / 2);
  for (int round = 0; round < 1500; ++round) {
    auto head = std::string(text.substr(0, end));
    auto tail = std::string(text.substr(text.size() - end));
    (round % 2 == 0 ? head : tail) = mutator.damage(round % 2 == 0 ? head : tail);
    const auto damaged = head + std::string(text.substr(end, text.size() - 2 * end)) + tail;
    try {
      read_all(file.name, damaged);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FileFuzzTest,
                         testing::Values("state_dict.pth", "nested.pth", "legacy.pth",
                                         "weights.safetensors"));

}  // namespace
}  // namespace tally::weights
