// SPDX-License-Identifier: Apache-2.0
// `tally inspect` of weights, and --to-safetensors, which writes them under the names of a model.
#include <cstdint>
#include <cstring>

#include <tally/weights/byte_source.hpp>
#include <tally/weights/checkpoint.hpp>

#include "expect_error.hpp"
#include "inspect_fixture.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

// A safetensors file of the size of its header, the header, and the bytes of the tensors.
std::string safetensors(const std::string& header, const std::vector<float>& values) {
  const std::uint64_t size = header.size();
  std::string text(reinterpret_cast<const char*>(&size), sizeof size);
  text += header;
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return text;
}

class ConvertWeightsTest : public InspectFixture {
 protected:
  // net.a = [1, 2], net.b = [[3]], other = 4
  ConvertWeightsTest() {
    write("w.safetensors",
          safetensors(R"({"net.a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                      R"("net.b":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]},)"
                      R"("other":{"dtype":"F32","shape":[],"data_offsets":[12,16]}})",
                      {1, 2, 3, 4}));
  }

  std::string convert(std::vector<std::string> more) const {
    std::vector<std::string> words{at("w.safetensors"), "--to-safetensors", at("out.safetensors")};
    words.insert(words.end(), more.begin(), more.end());
    return printed(words);
  }

  // Of a tensor in the file that was written; it has one part.
  std::vector<float> values(const std::string& name) const {
    const auto written = weights::open_checkpoint(at("out.safetensors"), {});
    const auto& part = written.tensors.at(name).parts.at(0);
    const auto bytes = weights::FileSource(at("out.safetensors")).read(part.offset, part.num_bytes);
    std::vector<float> found(bytes.size() / sizeof(float));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }

  std::vector<std::string> written_names() const {
    std::vector<std::string> names;
    for (const auto& tensor : weights::open_checkpoint(at("out.safetensors"), {}).tensors) {
      names.push_back(tensor.first);
    }
    return names;
  }

  // What is in the folder beside the weights.
  std::vector<std::string> others() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path() != at("w.safetensors")) names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(ConvertWeightsTest, WeightsAreListed) {
  EXPECT_EQ(printed({at("w.safetensors")}),
            "safetensors file: 4 values in 3 tensors\n  net.a float32 [2]\n"
            "  net.b float32 [1, 1]\n  other float32 []\n");
}

TEST_F(ConvertWeightsTest, AllTensorsAreWrittenUnderTheirNames) {
  EXPECT_EQ(convert({}), "wrote '" + at("out.safetensors") + "': 3 tensors\n");
  EXPECT_THAT(written_names(), ElementsAre("net.a", "net.b", "other"));
  EXPECT_THAT(values("net.a"), ElementsAre(1, 2));
  EXPECT_THAT(values("net.b"), ElementsAre(3));
  EXPECT_THAT(values("other"), ElementsAre(4));
}

TEST_F(ConvertWeightsTest, APrefixIsTakenOffAndLeavesOutTheOthers) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(convert({"--weights-prefix", "net."}),
            "wrote '" + at("out.safetensors") + "': 2 tensors\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              EndsWith(": prefix 'net.' taken off the names; 1 without it left out: other\n"));
  EXPECT_THAT(written_names(), ElementsAre("a", "b"));
  EXPECT_THAT(values("b"), ElementsAre(3));
}

TEST_F(ConvertWeightsTest, WhatIsThereStays) {
  write("out.safetensors", "mine");
  expect_error(ErrorKind::output,
               {"out.safetensors' exists already", "Choose another name with --to-safetensors."},
               [&] { convert({}); });
  EXPECT_EQ(text_of("out.safetensors"), "mine");
  fs::remove(at("out.safetensors"));
  fs::create_symlink(at("nowhere"), at("out.safetensors"));
  expect_error(ErrorKind::output, {"exists already"}, [&] { convert({}); });
  EXPECT_FALSE(fs::exists(at("nowhere"))) << "a link was followed";
}

TEST_F(ConvertWeightsTest, AListOfWeightsDecidesWhichNamesFit) {
  write("w.safetensors",
        safetensors(R"({"module.a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", {5, 6}));
  const auto list = write("list.json", R"({"model": "net", "fixed_buffers": [], "tensors": [
      {"name": "a", "dtype": "float32", "shape": [2]}]})");
  testing::internal::CaptureStderr();
  convert({"--like", list});
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "tally: note: weights '" + at("w.safetensors") + "': prefix 'module.' taken off the names\n");
  EXPECT_THAT(written_names(), ElementsAre("a"));
  EXPECT_THAT(values("a"), ElementsAre(5, 6));
}

struct Refusal {
  std::vector<std::string> words;
  std::string list;  // what the file of --like holds
  ErrorKind kind;
  std::vector<std::string> message;
};

class ConversionRefusals : public ConvertWeightsTest,
                           public testing::WithParamInterface<Refusal> {};

TEST_P(ConversionRefusals, WriteNothing) {
  auto words = GetParam().words;
  if (!GetParam().list.empty()) write("list.json", GetParam().list);
  for (auto& word : words) {
    if (word == "list.json") word = at(word);
  }
  expect_error(GetParam().kind, GetParam().message, [&] { convert(words); });
  fs::remove(at("list.json"));
  EXPECT_THAT(others(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, ConversionRefusals,
    testing::Values(
        Refusal{{"--weights-prefix", "x."}, "", ErrorKind::model, {"--weights-prefix 'x.'"}},
        Refusal{{"--weights-key", "ema"},
                "",
                ErrorKind::model,
                {"w.safetensors", "it has no entries that --weights-key could name"}},
        Refusal{{"--like", "list.json"}, "", ErrorKind::usage, {"list.json", "No such file"}},
        Refusal{{"--like", "list.json"},
                "[]",
                ErrorKind::usage,
                {"list.json is no list of a model's weights (", "docs/checkpoints.md"}},
        Refusal{{"--like", "list.json"},
                R"({"model": "n", "fixed_buffers": [], "tensors": [
                    {"name": "net.a", "dtype": "float32", "shape": [3]}]})",
                ErrorKind::model,
                {"do not fit model 'n'", "net.a [2] float32 (the model's: [3] float32)",
                 "unexpected: net.b"}},
        Refusal{{"--worst", "3"}, "", ErrorKind::usage, {"--to-safetensors is for weights"}},
        Refusal{{"--verify"}, "", ErrorKind::usage, {"is for weights, not for data sets"}}));

TEST_F(ConvertWeightsTest, WhatIsNoCheckpointIsNotWritten) {
  write("w.safetensors", "nothing\n");
  expect_error(ErrorKind::model, {"w.safetensors' is a text file"}, [&] { convert({}); });
  EXPECT_THAT(others(), IsEmpty());
}

TEST_F(ConvertWeightsTest, AFolderOfShardsIsOneCheckpoint) {
  fs::create_directory(at("shards"));
  for (const std::string name : {"a", "b"}) {
    write("shards/" + name + ".safetensors",
          safetensors(R"({")" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                      {name == "a" ? 1.0F : 2.0F}));
  }
  write("shards/model.safetensors.index.json",
        R"({"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}})");
  const auto text = printed({at("shards")});
  EXPECT_THAT(text,
              testing::StartsWith("2 safetensors files with an index: 2 values in 2 tensors\n"));
  EXPECT_EQ(printed({at("shards/model.safetensors.index.json")}), text) << "the index names them";
  printed({at("shards"), "--to-safetensors", at("out.safetensors")});
  EXPECT_THAT(values("a"), ElementsAre(1));
  EXPECT_THAT(values("b"), ElementsAre(2));
}

}  // namespace
}  // namespace tally::app
