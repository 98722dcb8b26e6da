// SPDX-License-Identifier: Apache-2.0
// Folders of DeepSpeed.
#include <tally/weights/checkpoint_files.hpp>

#include "checkpoint_fixture.hpp"

namespace tally::weights {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

void check(const std::string& name, const std::string& kind) {
  SCOPED_TRACE(name);
  const auto checkpoint = open_checkpoint(checkpoint_path(name), {});
  EXPECT_EQ(checkpoint.kind, kind);
  check_same(checkpoint, checkpoint_path(name + ".expected.safetensors"));
}

std::string refusal(const std::filesystem::path& path) {
  return error_of(ErrorKind::model, [&] { open_checkpoint(path, {}); });
}

TEST(DeepSpeedTest, IsReadAsByItsOwnScript) {
  for (const auto* stage : {"1", "2", "3"}) {
    const auto name = "deepspeed-2/stage" + std::string(stage);
    const auto kind = "a DeepSpeed checkpoint (ZeRO stage " + std::string(stage) + ")";
    check(name + "_bf16", kind);
    check(name + "_fp32", kind);
  }
  check("deepspeed-2/stage2_frozen", "a DeepSpeed checkpoint (ZeRO stage 2)");
  check("deepspeed-2/stage3_frozen", "a DeepSpeed checkpoint (ZeRO stage 3)");
}

TEST(DeepSpeedTest, OfManyRanksAndWithPaddings) {
  check("deepspeed-made/stage2_bf16-11-0", "a DeepSpeed checkpoint (ZeRO stage 2)");
  check("deepspeed-made/stage2_bf16-3-5", "a DeepSpeed checkpoint (ZeRO stage 2)");
  check("deepspeed-made/stage3_bf16-11-0", "a DeepSpeed checkpoint (ZeRO stage 3)");
  check("deepspeed-made/stage3_frozen-11-0", "a DeepSpeed checkpoint (ZeRO stage 3)");
}

TEST(DeepSpeedTest, ItsStageIsPickledByNameOrByValue) {
  check("deepspeed-made/stage2_bf16-by_name", "a DeepSpeed checkpoint (ZeRO stage 2)");
  check("deepspeed-made/stage2_bf16-by_value", "a DeepSpeed checkpoint (ZeRO stage 2)");
}

TEST(DeepSpeedTest, WithoutZeroTheModuleIsTaken) {
  check("deepspeed-made/no_zero", "a DeepSpeed checkpoint");
  const auto checkpoint = open_checkpoint(checkpoint_path("deepspeed-made/no_zero"), {});
  EXPECT_EQ(checkpoint.location, "module");
}

TEST(DeepSpeedTest, TheFolderOfOneStepIsReadToo) {
  check_same(open_checkpoint(checkpoint_path("deepspeed-2/stage3_bf16/global_step3"), {}),
             checkpoint_path("deepspeed-2/stage3_bf16.expected.safetensors"));
}

TEST(DeepSpeedTest, IsDescribed) {
  const auto lines = describe(open_checkpoint(checkpoint_path("deepspeed-2/stage2_bf16"), {}));
  EXPECT_THAT(lines.at(0), HasSubstr("DeepSpeed checkpoint (ZeRO stage 2): "));
  EXPECT_THAT(lines, Contains("  conv.weight float32 [13, 3, 3, 3]"));
  EXPECT_THAT(lines, Contains(HasSubstr("bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt (")));
}

TEST(DeepSpeedTest, NoKeyNamesAnythingInIt) {
  EXPECT_THAT(error_of(ErrorKind::model,
                       [] { open_checkpoint(checkpoint_path("deepspeed-2/stage2_bf16"), "x"); }),
              HasSubstr("it has no entries that --weights-key could name"));
}

TEST(DeepSpeedTest, FilesAreThoseOfAllRanks) {
  const Folder folder;
  folder.copy(checkpoint_path("deepspeed-2/stage3_bf16/global_step3"));
  std::vector<std::string> names;
  for (const auto& file : checkpoint_files(folder.path())) names.push_back(file.filename());
  EXPECT_THAT(names, ElementsAre("zero_pp_rank_0_mp_rank_00_model_states.pt",
                                 "zero_pp_rank_1_mp_rank_00_model_states.pt",
                                 "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
                                 "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"));
  std::filesystem::remove(folder.path() / names[2]);
  const auto missing = HasSubstr("its file '" + names[2] + "' is missing");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { checkpoint_files(folder.path()); }), missing);
  EXPECT_THAT(refusal(folder.path()), missing);
  std::filesystem::remove(folder.path() / names[3]);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("which hold the weights, are missing"));
}

TEST(DeepSpeedTest, TheLastRankIsMissed) {
  const Folder folder;
  folder.copy(checkpoint_path("deepspeed-made/stage2_bf16-11-0/global_step3"));
  std::filesystem::remove(folder.path() / "bf16_zero_pp_rank_10_mp_rank_00_optim_states.pt");
  EXPECT_THAT(refusal(folder.path()),
              HasSubstr("it has 10 files *_optim_states.pt, but 11 ranks wrote it"));
}

TEST(DeepSpeedTest, ModelsSplitInAnotherWayAreRefused) {
  for (const auto* name :
       {"mp_rank_01_model_states.pt", "layer_0_expert_3_mp_rank_00_model_states.pt",
        "expp_rank_0_mp_rank_00_optim_states.pt", "layer_01-model_states.pt",
        "bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt",
        "zero_pp_rank_0_mp_rank_00_model_states.pt"}) {
    const Folder folder;
    folder.copy(checkpoint_path("deepspeed-2/stage2_bf16/global_step3"));
    folder.write(name, "");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("-parallel model, which is not read")) << name;
  }
}

TEST(DeepSpeedTest, WhatIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"more_ranks", "it has 2 files *_optim_states.pt, but 3 ranks wrote it"},
      {"no_ranks", "its partition_count is a number"},
      {"ranks_in_words", "its partition_count is text"},
      {"stage_unknown", "it is of ZeRO's stage 4"},
      {"stage_none", "it has no zero_stage: it is no file of ZeRO's optimizer states"},
      {"other_stage", "its *_optim_states.pt are of several checkpoints"},
      {"fewer_groups", "it has 2 groups of parameters and 1 of flat tensors"},
      {"group_of_text", "text where a tensor should be"},
      {"group_shorter", "flat tensors"},
      {"group_longer", "elements, its flat tensors "},
      {"group_of_two_dimensions", "a flat tensor of shape ["},
      {"group_with_gaps", "a flat tensor with gaps"},
      {"group_of_other_type", "its flat tensors are of types bfloat16 and float32"},
      {"paddings_of_others", "1 paddings for "},
      {"padding_negative", "its paddings are no sizes"},
      {"padding_huge", "has a padding of impossible size"},
      {"shape_larger", "flat tensors"},
      {"shape_huge", "parameter 'conv.weight': it is said to lie at element 91 of flat tensors"},
      {"shape_wrapping", "a tensor of impossible size"},
      {"shape_in_words", "not a tuple of integers"},
      {"shapes_missing", "it has *_optim_states.pt, but its param_shapes are missing"},
      {"shapes_of_text", "its param_shapes are no list"},
      {"buffer_names_missing", "it has no buffer_names: it is no file of a model's states"},
      {"module_missing", "it has no module: "},
      {"frozen_without_fragment", "parameter 'x': a rank has no fragment of it"},
      {"experts", "its experts are partitioned, which is not read"},
      {"stage3_longer", " elements a rank, its flat tensors "},
      {"stage3_longer_for_one", " elements a rank, its flat tensors "},
      {"stage3_fragments_cut", "parameter 'wide.weight': it is said to lie at element 0 of flat"},
      {"no_dict", "it has no optimizer_state_dict"}};
  for (const auto& [variant, text] : cases) {
    EXPECT_THAT(refusal(checkpoint_path("deepspeed-made/bad/" + variant)), HasSubstr(text))
        << variant;
  }
}

TEST(DeepSpeedTest, FilesThatAreCutShortAreCopiedAgain) {
  for (const auto* name :
       {"mp_rank_00_model_states.pt", "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"}) {
    const Folder folder;
    folder.copy(checkpoint_path("deepspeed-2/stage2_bf16/global_step3"));
    const auto path = folder.path() / name;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
                HasSubstr("(cut short or damaged: the end of its zip archive is missing). Copy"));
  }
}

}  // namespace
}  // namespace tally::weights
