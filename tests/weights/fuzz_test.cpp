// SPDX-License-Identifier: Apache-2.0
// Checkpoints of which one file is damaged are read or refused, never anything else. Single files:
// tests/fuzz.
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

#include "checkpoint_fixture.hpp"
#include "mutator.hpp"

namespace tally::weights {
namespace {

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

}  // namespace
}  // namespace tally::weights
