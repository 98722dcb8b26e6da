// SPDX-License-Identifier: Apache-2.0
#include <tally/base/format.hpp>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

using namespace std::literals;
using testing::ContainerEq;
using testing::HasSubstr;

class WeightFormsTest : public testing::TestWithParam<const char*> {};

TEST_P(WeightFormsTest, GiveTheOtherModelBitForBit) {
  for (const auto* model : {"net.pt", "net_training.pt"}) {
    EXPECT_THAT(run(*load(model, GetParam())), ContainerEq(read_floats("other.f32"))) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightFormsTest,
                         testing::Values("state_dict.pth", "plain_dict.pth", "parameters.pth",
                                         "nested.pth", "data_parallel.pth", "compiled.pth",
                                         "lightning.pth", "legacy.pth", "views.pth",
                                         "weights.safetensors", "unaligned.safetensors"));

TEST(WeightSwapTest, ATracedModelTakesThemToo) {
  const auto scores = run(*load("net_traced.pt", "state_dict.pth"));
  EXPECT_THAT(scores, testing::Pointwise(testing::FloatNear(2e-6f), read_floats("other.f32")));
}

std::string notes_of(const std::string& weights) {
  testing::internal::CaptureStderr();
  load("net.pt", weights);
  return testing::internal::GetCapturedStderr();
}

TEST(WeightSwapTest, SaysWhatItChose) {
  EXPECT_THAT(notes_of("nested.pth"), HasSubstr("taken from its entry 'model'"));
  EXPECT_THAT(notes_of("compiled.pth"), HasSubstr("prefix '_orig_mod.module.' taken off"));
  EXPECT_EQ(notes_of("state_dict.pth"), "");
}

TEST(WeightSwapTest, ConversionsAreNoted) {
  testing::internal::CaptureStderr();
  const auto predictor = load("net.pt", "bfloat16.pth");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("10 tensors converted from bfloat16 to float32"));
  EXPECT_THAT(run(*predictor), ContainerEq(read_floats("bfloat16.f32")));
}

TEST(WeightSwapTest, TheKeyMayBeGiven) {
  const auto predictor = load("net.pt", "odd_key.pth", "run.my.weights");
  EXPECT_THAT(run(*predictor), ContainerEq(read_floats("other.f32")));
  const auto error = [](const std::string& weights, const std::string& key) {
    return error_of(ErrorKind::model, [&] { load("net.pt", weights, key); });
  };
  EXPECT_THAT(error("odd_key.pth", ""), HasSubstr("name the entry with --weights-key"));
  EXPECT_THAT(error("odd_key.pth", "run.yours"), HasSubstr("it has no entry 'run.yours'"));
  EXPECT_THAT(error("odd_key.pth", "epoch"), HasSubstr("is a number, not a dict of tensors"));
  EXPECT_THAT(error("weights.safetensors", "model"), HasSubstr("--weights-key"));
}

std::string misfit(const std::string& weights, const std::string& model = "net.pt") {
  return error_of(ErrorKind::model, [&] { load(model, weights); });
}

TEST(WeightSwapTest, MisfitsAreListed) {
  EXPECT_THAT(misfit("missing.pth"), HasSubstr("2 missing: fc.bias, fc.weight."));
  EXPECT_THAT(misfit("unexpected.pth"), HasSubstr("1 unexpected: head.weight."));
  EXPECT_THAT(
      misfit("misshaped.pth"),
      HasSubstr("2 of another shape or type: fc.bias [7] float32 (the model's: [10] float32)"));
  EXPECT_THAT(misfit("integers.pth"), HasSubstr("bn.weight [8] int64 (the model's: [8] float32)"));
}

TEST(WeightSwapTest, NamesInMessagesArePrintable) {
  auto checkpoint = weights::open_checkpoint(fixture_path("state_dict.pth"), {});
  checkpoint.tensors["a\0\n"s];
  const auto loaded = load_model(File("net.pt"), plainly());
  EXPECT_THAT(error_of(ErrorKind::model, [&] { loaded->match_state_dict(checkpoint); }),
              HasSubstr(R"(1 unexpected: a\x00\x0a.)"));
}

// The tensors of state_dict.pth under these prefixes.
weights::Checkpoint prefixed(const std::vector<std::string>& prefixes) {
  auto checkpoint = weights::open_checkpoint(fixture_path("state_dict.pth"), {});
  for (const auto& [name, tensor] : std::exchange(checkpoint.tensors, {})) {
    for (const auto& prefix : prefixes) checkpoint.tensors[prefix + name] = tensor;
  }
  return checkpoint;
}

TEST(WeightSwapTest, APrefixThatIsAskedForIsTakenOff) {
  for (const auto* prefix : {"student.", "model.net."}) {
    auto options = plainly();
    options.weights_prefix = prefix;
    const auto loaded = load_model(File("net.pt"), options);
    testing::internal::CaptureStderr();
    swap_weights(*loaded, prefixed({"teacher.", prefix, ""}));
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr(format("prefix '{}' taken off the names; 22 without it left out: bn.bias",
                                 prefix)));
    EXPECT_THAT(run(*loaded->into_predictor()), ContainerEq(read_floats("other.f32")));
  }
}

TEST(WeightSwapTest, ThePrefixThatWouldFitIsNamed) {
  const auto loaded = load_model(File("net.pt"), plainly());
  const auto error = [&](const weights::Checkpoint& checkpoint) {
    return error_of(ErrorKind::model, [&] { loaded->match_state_dict(checkpoint); });
  };
  EXPECT_THAT(error(prefixed({"net."})), HasSubstr("--weights-prefix net. would fit."));
  auto options = plainly();
  options.weights_prefix = "student.";
  const auto other = load_model(File("net.pt"), options);
  EXPECT_THAT(error_of(ErrorKind::model, [&] { swap_weights(*other, prefixed({""})); }),
              HasSubstr("fit without --weights-prefix"));
  EXPECT_THAT(error(prefixed({"net.", "teacher."})),
              HasSubstr("--weights-prefix net. or teacher. would fit."));
  auto checkpoint = prefixed({"net."});
  checkpoint.tensors.at("net.fc.bias").shape = {7};
  EXPECT_THAT(error(checkpoint), HasSubstr("Compare both files with 'tally inspect'."));
}

TEST(WeightSwapTest, NothingIsBroadcast) {
  EXPECT_THAT(misfit("broadcastable.pth"),
              HasSubstr("bn.weight [1] float32 (the model's: [8] float32)"));
}

TEST(WeightSwapTest, ATypeThatIsNotReadIsMissing) {
  EXPECT_THAT(misfit("complex.pth"), HasSubstr("1 missing: bn.weight."));
}

TEST(WeightSwapTest, ListsStopAfterTenNames) {
  const auto message = misfit("strangers.pth");
  EXPECT_THAT(message, HasSubstr("30 unexpected: layer0.weight"));
  EXPECT_THAT(message, HasSubstr("layer17.weight, …"));
  EXPECT_THAT(message, testing::Not(HasSubstr("layer18.weight")));
}

TEST(WeightSwapTest, FrozenModelsAreRefused) {
  EXPECT_THAT(misfit("state_dict.pth", "net_frozen.pt"),
              HasSubstr("holds its weights as constants"));
}

TEST(WeightSwapTest, TiedWeightsAndFixedBuffersNeedNotBeThere) {
  EXPECT_THAT(run(*load("tied.pt", "tied.safetensors")),
              ContainerEq(read_floats("tied_other.f32")));
  EXPECT_THAT(run(*load("tied.pt", "tied.pth")), ContainerEq(read_floats("tied_other.f32")));
  const File model("tied_no_card.pt");
  const File card("tied_card.json");
  auto options = plainly();
  options.card = card;
  EXPECT_THAT(run(*load(model, options, "tied.pth")), ContainerEq(read_floats("tied_other.f32")));
  EXPECT_THAT(error_of(ErrorKind::model, [&] { load(model, {}, "tied.pth"); }),
              HasSubstr("1 missing: order"));
}

}  // namespace
}  // namespace tally::model
