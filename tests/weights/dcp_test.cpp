// SPDX-License-Identifier: Apache-2.0
// Folders of torch.distributed.checkpoint.
#include <tally/base/byte_conversions.hpp>
#include <tally/weights/checkpoint_files.hpp>

#include "checkpoint_fixture.hpp"

namespace tally::weights {
namespace {

using namespace std::literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

class DistributedTest : public testing::TestWithParam<const char*> {
 protected:
  static std::filesystem::path path(const std::string& name) {
    return checkpoint_path(GetParam()) / name;
  }
  static void check(const std::string& name, const std::string& key, const std::string& location) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(path(name), key);
    EXPECT_EQ(checkpoint.location, location);
    check_same(checkpoint, path(name + ".expected.safetensors"));
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, DistributedTest, testing::Values("dcp-1", "dcp-2"));

TEST_P(DistributedTest, IsReadAsByPyTorch) {
  for (const auto* name :
       {"flat", "many_files", "first_kind", "replicated_bf16", "beside_others"}) {
    check(name, {}, {});
  }
  for (const auto* name :
       {"model", "model_and_optimizer", "bf16", "full", "tensor_parallel", "replicated"}) {
    check(name, {}, "model");
  }
  check("app", {}, "app.model");
}

TEST_P(DistributedTest, AKeyNamesWhatHasNoUsualName) {
  check("own_names", "state_dict.net", "state_dict.net");
  check("model_and_optimizer", "model", "model");
  EXPECT_THAT(error_of(ErrorKind::model, [] { open_checkpoint(path("app"), "app.net"); }),
              HasSubstr("it has no entry 'app.net' (--weights-key); it holds 'app' (a dict)"));
}

// By their whole names: of what is no usual name nobody knows how much of it is the model's.
TEST_P(DistributedTest, WithoutAUsualNameAllAreTaken) {
  const auto checkpoint = open_checkpoint(path("own_names"), {});
  EXPECT_TRUE(checkpoint.tensors.contains("state_dict.net.conv.weight"));
  EXPECT_THAT(checkpoint.skipped, Contains("'step' (no tensor)"));
  const auto beside = open_checkpoint(path("beside_a_step"), {});
  EXPECT_TRUE(beside.tensors.contains("encoder.conv.weight"));
  EXPECT_FALSE(beside.tensors.contains("step"));
  EXPECT_THAT(beside.skipped,
              IsSupersetOf({"'step' (beside the weights)", "'random' (beside the weights)"}));
}

TEST_P(DistributedTest, IsDescribed) {
  const auto lines = describe(open_checkpoint(path("app"), {}));
  EXPECT_THAT(lines.at(0), HasSubstr("distributed checkpoint: "));
  EXPECT_THAT(lines.at(1), "found at: app.model");
  EXPECT_THAT(lines, Contains("  conv.weight float32 [13, 3, 3, 3]"));
  EXPECT_THAT(lines, Contains(HasSubstr("app/__0_0.distcp (")));
}

TEST_P(DistributedTest, FilesAreThoseThatItsMetadataNames) {
  const Folder folder;
  folder.copy(path("many_files"));
  folder.write("other", "");
  const auto file = folder.path() / "__0_0.distcp";
  const auto files = checkpoint_files(folder.path());
  EXPECT_THAT(files, IsSupersetOf({folder.path() / ".metadata", file}));
  EXPECT_EQ(std::ssize(files) + 1, std::distance(std::filesystem::directory_iterator(folder.path()),
                                                 std::filesystem::directory_iterator()));
  std::filesystem::remove(file);
  EXPECT_THAT(error_of(ErrorKind::model, [&] { checkpoint_files(folder.path()); }),
              HasSubstr("/.metadata' cannot be read (its file '__0_0.distcp' is missing)"));
  EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
              HasSubstr("__0_0.distcp' cannot be read: No such file"));
}

TEST(DistributedFilesTest, WhatIsNoMetadataIsRefused) {
  const Folder folder;
  for (const auto* text : {"", "text", "\x80\x04N.", "\x80\x04]."}) {
    folder.write(".metadata", text);
    EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
                HasSubstr("/.metadata' cannot be read ("));
  }
}

// The checkpoint of two ranks with one of the variants that odd_metadata.py wrote.
class OddMetadata {
 public:
  OddMetadata() { folder_.copy(checkpoint_path("dcp-2/model")); }
  std::filesystem::path with(const std::string& variant) const {
    const FixtureFile file(checkpoint_path("odd_metadata/" + variant));
    folder_.write(".metadata", as_text(file.bytes));
    return folder_.path();
  }
  std::string refusal(const std::string& variant) const {
    return error_of(ErrorKind::model, [&] { open_checkpoint(with(variant), {}); });
  }

 private:
  Folder folder_;
};

TEST(OddMetadataTest, WhatIsStillRead) {
  const OddMetadata odd;
  const auto expected = checkpoint_path("dcp-2/model.expected.safetensors");
  check_same(open_checkpoint(odd.with("old_properties"), {}), expected);
  for (const auto* variant : {"no_paths", "odd_paths"}) {
    const auto checkpoint = open_checkpoint(odd.with(variant), {});
    EXPECT_EQ(checkpoint.location, "");
    EXPECT_TRUE(checkpoint.tensors.contains("model.conv.weight"));
  }
  const auto all = open_checkpoint(odd.with("no_usual_paths"), {});
  EXPECT_TRUE(all.tensors.contains("model.conv.weight"));
  EXPECT_FALSE(all.tensors.contains("model.wide.weight"));
  const auto optimizer = open_checkpoint(odd.with("no_usual_paths"), "optim.state");
  EXPECT_TRUE(optimizer.tensors.contains("0"));
  const auto checkpoint = open_checkpoint(odd.with("complex"), {});
  EXPECT_THAT(checkpoint.skipped, Contains("'conv.weight' (torch.complex64)"));
}

TEST(OddMetadataTest, WhatIsRefused) {
  const OddMetadata odd;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"chunk_missing", "(tensor 'conv.weight': its chunks have 189 of its 351 elements)"},
      {"chunk_twice", "(tensor 'conv.weight': its chunks overlap)"},
      {"chunk_overlapping", "(tensor 'conv.weight': its chunks overlap)"},
      {"chunk_outside", "its chunk [7, 3, 3, 3] at [7, 0, 0, 0] lies outside of its shape"},
      {"chunk_negative", "lies outside of its shape"},
      {"chunk_of_huge_size", "lies outside of its shape"},
      {"chunk_nowhere", "(tensor 'conv.weight': its chunk at [0, 0, 0, 0] lies nowhere)"},
      {"tensor_of_huge_size", "its chunks have 351 of its 27000000000000 elements"},
      {"tensor_without_size", "(tensor 'conv.weight': "},
      {"tensor_without_type", "(tensor 'conv.weight': nothing says of which type it is)"},
      {"tensor_of_other_type", "its chunk is float32 [7, 3, 3, 3], not float64 [7, 3, 3, 3]"},
      {"slice_outside", "bytes from byte 1000000000 on reach past its"},
      {"slice_wrapping", "reach past its"},
      {"slice_negative", "the offset of its torch.distributed.checkpoint.filesystem._StorageInfo"},
      {"slice_short",
       "__0_0.distcp' cannot be read (cut short or damaged: tensor 'conv.weight': the end of its "
       "zip"},
      {"slice_of_other_tensor", "its chunk is float32 "},
      {"transformed", "its files are compressed or encrypted, which is not read"},
      {"file_up", "it names '../__0_0.distcp', which is no file beside it"},
      {"file_absolute", "it names '/etc/passwd', which is no file beside it"},
      {"file_of_no_name", "it names '', which is no file beside it"},
      {"file_missing", "__9_9.distcp' cannot be read: No such file"},
      {"file_a_number", "which is no file beside it"},
      {"same_path", "two entries are at the place of 'model."},
      {"value_below_a_tensor", "two entries are at the place of 'model."}};
  for (const auto& [variant, text] : cases) EXPECT_THAT(odd.refusal(variant), HasSubstr(text));
}

TEST(OddMetadataTest, NamesThatLeadElsewhereAreNoFilesOfIt) {
  const OddMetadata odd;
  EXPECT_THAT(error_of(ErrorKind::model, [&] { checkpoint_files(odd.with("file_up")); }),
              HasSubstr("which is no file beside it"));
}

TEST(DistributedFilesTest, AFileCutShortIsRefused) {
  const Folder folder;
  folder.copy(checkpoint_path("dcp-1/flat"));
  const auto file = folder.path() / "__0_0.distcp";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
              HasSubstr("__0_0.distcp' cannot be read (cut short or damaged: tensor '"));
}

TEST(MetadataTest, FilesThatAreCutShortAreCopiedAgain) {
  for (const auto* name : {".metadata", "__0_0.distcp", "__1_0.distcp"}) {
    const Folder folder;
    folder.copy(checkpoint_path("dcp-2/flat"));
    const auto path = folder.path() / name;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
                testing::AllOf(HasSubstr(std::string(name) + "' cannot be read (cut short or"),
                               testing::EndsWith("Copy or download the file again.")));
  }
}

TEST(MetadataTest, AStateThatIsNoDictHasNoAttributes) {
  const Folder folder;
  folder.write(".metadata",
               "ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81]("
               "X\x13\0\0\0state_dict_metadata}X\x0c\0\0\0storage_data}eb."s);
  EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
              HasSubstr("Metadata has no state_dict_metadata)"));
}

TEST(MetadataTest, NamesInMessagesArePrintable) {
  const Folder folder;
  folder.write(".metadata",
               "ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81}("
               "X\x13\0\0\0state_dict_metadata}(X\2\0\0\0a\0N"
               "X\2\0\0\0a\0NuX\x0c\0\0\0storage_data}ub."s);
  EXPECT_THAT(error_of(ErrorKind::model, [&] { open_checkpoint(folder.path(), {}); }),
              HasSubstr(R"((two entries are at the place of 'a\x00'))"));
}

}  // namespace
}  // namespace tally::weights
