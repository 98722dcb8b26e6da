// SPDX-License-Identifier: Apache-2.0
// One model, many weights.
#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::ContainerEq;
using testing::HasSubstr;

void swap_in(LoadedModel& loaded, const std::string& weights, std::uint64_t most_bytes = 64 << 20) {
  swap_weights(loaded, weights::open_checkpoint(fixture_path(weights), {}), most_bytes);
}

TEST(MasterTest, TakesWeightsAgainAndAgain) {
  const File model("net.pt");
  const auto loaded = load_model(model, plainly());
  const auto own = run(*loaded->make_predictor());
  EXPECT_THAT(own, ContainerEq(run(*load("net.pt"))));
  for (int round = 0; round < 2; ++round) {
    swap_in(*loaded, "state_dict.pth");
    EXPECT_THAT(run(*loaded->make_predictor()), ContainerEq(read_floats("other.f32")));
    swap_in(*loaded, "bfloat16.pth");
    EXPECT_THAT(run(*loaded->make_predictor()), ContainerEq(read_floats("bfloat16.f32")));
  }
}

std::vector<std::string> digests_of(LoadedModel& loaded) {
  std::vector<std::string> digests;
  for (std::size_t i = 0; i < loaded.num_tensors(); ++i) {
    digests.push_back(loaded.tensor_digest(i));
  }
  return digests;
}

// Every tensor in parts of one element, put in reverse.
void swap_by_elements(LoadedModel& loaded, const weights::Checkpoint& checkpoint) {
  for (const auto& name : loaded.match_state_dict(checkpoint).names) {
    const auto& tensor = checkpoint.tensors.at(name);
    const weights::FileSource file(checkpoint.files.front().path);
    for (const auto& part : tensor.parts) {
      const auto size = static_cast<std::uint64_t>(size_bytes(tensor.type));
      for (auto element = part.num_bytes / size; element-- > 0;) {
        const auto first = static_cast<std::int64_t>(element);
        const weights::StoredPart single{
            0, part.offset + element * size, size, {1}, {1}, first, {1}, {}};
        loaded.copy_tensor_part(name, single, file.read(single.offset, size));
      }
    }
  }
  loaded.commit();
}

TEST(MasterTest, PutsPartsInTheirPlaces) {
  const File model("net.pt");
  const auto loaded = load_model(model, plainly());
  const auto checkpoint = weights::open_checkpoint(fixture_path("weights.safetensors"), {});
  // The second time four-dimensional weights lie channels-last.
  for (int round = 0; round < 2; ++round) {
    swap_by_elements(*loaded, checkpoint);
    EXPECT_THAT(run(*loaded->make_predictor()), ContainerEq(read_floats("other.f32"))) << round;
    swap_in(*loaded, "bfloat16.pth");
    EXPECT_THAT(run(*loaded->make_predictor()), ContainerEq(read_floats("bfloat16.f32")));
  }
}

// Parts are counted from a tensor's begin, not from that of the memory it shares.
TEST(MasterTest, PutsPartsIntoSlicesOfOneStorage) {
  const auto digests_after = [](const auto& swap) {
    const File model("slices.pt");
    const auto loaded = load_model(model, plainly());
    swap(*loaded, weights::open_checkpoint(fixture_path("slices.pth"), {}));
    return digests_of(*loaded);
  };
  const auto whole = [](LoadedModel& loaded, const auto& checkpoint) {
    swap_weights(loaded, checkpoint);
  };
  EXPECT_THAT(digests_after(swap_by_elements), ContainerEq(digests_after(whole)));
}

TEST(MasterTest, AMisfitLeavesItAsItWas) {
  const File model("net.pt");
  const auto loaded = load_model(model, plainly());
  swap_in(*loaded, "state_dict.pth");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { swap_in(*loaded, "missing.pth"); }),
              HasSubstr("2 missing"));
  EXPECT_THAT(run(*loaded->make_predictor()), ContainerEq(read_floats("other.f32")));
}

TEST(MasterTest, DigestsAreOfTheWeightsWhateverFileTheyCameFrom) {
  const File model("net.pt");
  const auto loaded = load_model(model, plainly());
  const auto own = digests_of(*loaded);
  ASSERT_EQ(own.size(), 11u);
  EXPECT_THAT(own.front(), testing::StartsWith("bn.bias float32 [8] "));
  swap_in(*loaded, "state_dict.pth");
  const auto others = digests_of(*loaded);
  EXPECT_NE(others, own);
  const auto predictor = loaded->make_predictor();  // which lays some of them out anew
  for (const auto* same : {"weights.safetensors", "legacy.pth", "views.pth"}) {
    swap_in(*loaded, same);
    EXPECT_EQ(digests_of(*loaded), others) << same;
  }
}

std::string digest_of(LoadedModel& loaded, const std::string& name) {
  for (const auto& digest : digests_of(loaded)) {
    if (digest.starts_with(name + " ")) return digest;
  }
  return {};
}

TEST(MasterTest, WhatACheckpointLeavesOutIsTheModelsOwn) {
  const File model("net.pt");
  const auto loaded = load_model(model, plainly());
  const std::string counter = "bn.num_batches_tracked";
  auto checkpoint = weights::open_checkpoint(fixture_path("state_dict.pth"), {});
  // Another value than the model's: some other integer of the file.
  auto other = checkpoint;
  other.tensors.at(counter).parts.front().offset =
      checkpoint.tensors.at("fc.weight").parts.front().offset;
  const auto own = digest_of(*loaded, counter);
  swap_weights(*loaded, other);
  EXPECT_NE(digest_of(*loaded, counter), own);
  checkpoint.tensors.erase(counter);
  swap_weights(*loaded, checkpoint);
  EXPECT_EQ(digest_of(*loaded, counter), own);
}

}  // namespace
}  // namespace tally::model
