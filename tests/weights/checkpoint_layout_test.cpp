// SPDX-License-Identifier: Apache-2.0
// Which of the files in a folder is taken for its checkpoint.
#include "checkpoint_files.hpp"

#include <tally/weights/checkpoint_files.hpp>

#include "checkpoint_fixture.hpp"

namespace tally::weights {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "kind name", of what find_layout() takes.
std::string taken(const Folder& folder) {
  const auto layout = find_layout(folder.path());
  if (!layout) return "none";
  const auto name = std::filesystem::relative(layout->path, folder.path()).string();
  switch (layout->kind) {
    case LayoutKind::file:
      return "file " + name;
    case LayoutKind::shards:
      return "shards " + name;
    case LayoutKind::dcp:
      return "distributed " + name;
    case LayoutKind::deepspeed:
      return "deepspeed " + name;
  }
  return {};
}

// What a folder holds, from the last that is looked for to the first: each goes before those above.
TEST(LayoutTest, OfSeveralTheFirstIsTaken) {
  const Folder folder;
  for (const auto* other : {"optimizer.pt", "config.json", "training_args.bin", "rng_state.pth"}) {
    folder.write(other, "");
  }
  EXPECT_EQ(taken(folder), "none");
  folder.write("pytorch_model_fsdp_0/.metadata", "");
  EXPECT_EQ(taken(folder), "distributed pytorch_model_fsdp_0");
  folder.write("global_step5/x", "");
  folder.write("latest", " global_step5\n");
  EXPECT_EQ(taken(folder), "deepspeed global_step5");
  folder.write("mp_rank_00_model_states.pt", "");
  EXPECT_EQ(taken(folder), "deepspeed .");
  const std::vector<std::pair<std::string, std::string>> files{
      {"adapter.safetensors", "file "},
      {"consolidated.00.pth", "file "},
      {"weights.index.json", "shards "},
      {"pytorch_model_fsdp.bin", "file "},
      {"pytorch_model.bin.index.json", "shards "},
      {"pytorch_model.bin", "file "},
      {"model.safetensors.index.json", "shards "},
      {"model.safetensors", "file "}};
  for (const auto& [name, kind] : files) {
    folder.write(name, "");
    EXPECT_EQ(taken(folder), kind + name);
  }
  folder.write(".metadata", "");
  EXPECT_EQ(taken(folder), "distributed .");
}

TEST(LayoutTest, OfTwoThatAreEqualNoneIsTaken) {
  for (const auto* ending : {".safetensors", ".index.fp16.json"}) {
    const Folder folder;
    folder.write(std::string("a") + ending, "");
    folder.write(std::string("b") + ending, "");
    EXPECT_THAT(error_of(ErrorKind::model, [&] { taken(folder); }), HasSubstr("holds both 'a"));
  }
}

TEST(LayoutTest, LatestNamesAFolderBesideIt) {
  const Folder folder;
  for (const auto* text : {"", " \n", "..", "../x", "/etc"}) {
    folder.write("latest", text);
    EXPECT_THAT(error_of(ErrorKind::model, [&] { taken(folder); }),
                HasSubstr("it names no folder"));
  }
  folder.write("latest", "step\n");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { taken(folder); }),
              HasSubstr("the folder 'step' that it names is missing"));
  folder.write("latest", std::string(1'000'000, 'x'));
  EXPECT_LT(error_of(ErrorKind::model, [&] { taken(folder); }).size(), 1000u);
}

TEST(LayoutTest, AFolderOfOtherThingsIsNamed) {
  const Folder folder;
  folder.write("checkpoint-5/model.safetensors", "");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
              HasSubstr(folder.path().string() + "' holds no checkpoint: none of .metadata, "));
}

TEST(LayoutTest, OneFileOfAFolderIsDescribed) {
  const Folder folder;
  const auto file = folder.path() / "model.safetensors";
  std::filesystem::copy(fixture_path("weights.safetensors"), file);
  const auto checkpoint = open_checkpoint(folder.path(), {});
  EXPECT_EQ(checkpoint.path, folder.path());
  EXPECT_THAT(describe(checkpoint).at(1), HasSubstr("file: " + file.string()));
}

std::vector<std::string> files_at(const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const auto& file : checkpoint_files(path)) names.push_back(file.filename());
  return names;
}

TEST(CheckpointFilesTest, GoByName) {
  const Folder folder;
  for (const auto* name : {"a.pt", "a.pth", "a.th", "a.bin", "a.ckpt", "a.safetensors"}) {
    EXPECT_THAT(files_at(folder.write(name, "")), ElementsAre(name));
  }
  for (const auto* name : {"a", "a.h5", "a.json", "a.pt2", "a.pt.tmp"}) {
    EXPECT_THAT(files_at(folder.write(name, "")), IsEmpty()) << name;
  }
  EXPECT_THAT(files_at(folder.path() / "none.pt"), IsEmpty());
  EXPECT_THAT(files_at(folder.path()), ElementsAre("a.safetensors"));
}

TEST(CheckpointFilesTest, ShardsAndTheirIndex) {
  const Folder folder;
  folder.write("model.safetensors.index.json", R"({"weight_map":{"x":"2","y":"1","z":"2"}})");
  folder.write("1", "");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { files_at(folder.path()); }),
              HasSubstr("its shard '2' is missing"));
  folder.write("2", "");
  EXPECT_THAT(files_at(folder.path()), ElementsAre("model.safetensors.index.json", "1", "2"));
}

TEST(FileNamesTest, AreSortedAsPeopleDo) {
  std::vector<std::string> names{"rank_10", "rank_9", "rank_09x", "rank", "rank_1_b", "a2", "a10"};
  std::ranges::sort(names, natural_less);
  EXPECT_THAT(names, ElementsAre("a2", "a10", "rank", "rank_1_b", "rank_9", "rank_09x", "rank_10"));
}

}  // namespace
}  // namespace tally::weights
