// SPDX-License-Identifier: Apache-2.0
// A file of the wrong kind gets one clear sentence.
#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCopyAgain = ". Copy or download the file again.";

std::string model_error(const std::string& name) {
  return error_of(ErrorKind::model, [&] { load(name); });
}

std::string weights_error(const std::string& name) {
  return error_of(ErrorKind::model, [&] { load("net.pt", name); });
}

TEST(ModelRefusalTest, WeightsAreNotAModel) {
  EXPECT_EQ(model_error("state_dict.pth"),
            "'state_dict.pth' is a state_dict, not a model. Export the model with "
            "data_tools/export_model.py, or give the file as --weights.");
  EXPECT_THAT(model_error("weights.safetensors"), HasSubstr("is a safetensors file, not a model"));
  EXPECT_THAT(model_error("legacy.pth"),
              HasSubstr("is a checkpoint of PyTorch before 1.6, not a model"));
}

TEST(ModelRefusalTest, APickledModuleIsNamed) {
  EXPECT_THAT(model_error("whole_module.pth"),
              HasSubstr("is a pickled Python object ('fixture_nets.SmallNet')"));
}

TEST(ModelRefusalTest, OtherKinds) {
  EXPECT_THAT(model_error("package.pt2"),
              HasSubstr("is no .pt2 package that can be run (it holds no compiled code)"));
  EXPECT_THAT(model_error("set.h5"), HasSubstr("is an HDF5 file, not a model"));
  EXPECT_THAT(model_error("archive.zip"),
              HasSubstr("is a zip archive that PyTorch did not write, or a damaged one;"));
  EXPECT_THAT(model_error("empty"), HasSubstr("is empty"));
  EXPECT_THAT(model_error("text.txt"), HasSubstr("is a text file"));
  EXPECT_THAT(model_error("card.json"), HasSubstr("is a JSON text file"));
  EXPECT_THAT(model_error("picture.png"), HasSubstr("first bytes are 89 50 4e 47 0d 0a 1a 0a"));
}

TEST(ModelRefusalTest, ACutFileIsSaidToBeCut) {
  EXPECT_THAT(weights_error("cut_legacy.pth"), HasSubstr("the file ends early"));
  EXPECT_THAT(weights_error("cut_weights.safetensors"), HasSubstr("reach past the file's"));
  for (const auto* name : {"cut_state_dict.pth", "cut_legacy.pth", "cut_weights.safetensors"}) {
    EXPECT_THAT(weights_error(name), AllOf(HasSubstr("cut short"), EndsWith(kCopyAgain))) << name;
  }
  for (const auto* name : {"cut_net.pt", "cut_state_dict.pth"}) {  // none knows what it was
    EXPECT_THAT(model_error(name),
                AllOf(HasSubstr("was cut short"), Not(HasSubstr("expected")), EndsWith(kCopyAgain)))
        << name;
  }
}

TEST(WeightsRefusalTest, OtherKinds) {
  EXPECT_THAT(weights_error("net.pt"), HasSubstr("is a TorchScript model, not weights"));
  EXPECT_THAT(weights_error("package.pt2"), HasSubstr("is a .pt2 package, not weights"));
  EXPECT_THAT(weights_error("set.h5"), HasSubstr("is an HDF5 file, not weights"));
  EXPECT_THAT(weights_error("text.txt"), HasSubstr("is a text file; expected a state_dict"));
  EXPECT_THAT(weights_error("empty"), HasSubstr("is empty"));
  EXPECT_THAT(weights_error("compressed.pth"), HasSubstr("is compressed"));
}

TEST(WeightsRefusalTest, NothingThatLooksLikeWeights) {
  EXPECT_THAT(weights_error("whole_module.pth"),
              HasSubstr("a pickled Python object of 'fixture_nets.SmallNet', which is never run"));
  EXPECT_THAT(weights_error("no_tensors.pth"),
              HasSubstr("no state_dict was found in it; it holds 'epoch' (a number), 'lr'"));
  EXPECT_THAT(weights_error("bare_tensor.pth"), HasSubstr("it holds a tensor, not a dict"));
}

TEST(WeightsRefusalTest, HostilePicklesAreNotRun) {
  EXPECT_THAT(weights_error("evil.pth"),
              testing::AnyOf(HasSubstr("'posix.system', which is never run"),
                             HasSubstr("'os.system', which is never run")));
  testing::internal::CaptureStderr();
  const auto predictor = load("net.pt", "evil_nested.pth");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("taken from its entry 'model'"));
  EXPECT_THAT(run(*predictor), testing::ContainerEq(read_floats("other.f32")));
  EXPECT_FALSE(std::filesystem::exists(fixture_path("executed")));
}

}  // namespace
}  // namespace tally::model
