// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include <tally/model/describe_model.hpp>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::ContainerEq;
using testing::Contains;
using testing::HasSubstr;

// A package that make_packages.py wrote.
struct PackageFile {
  explicit PackageFile(const std::string& file_name)
      : name(file_name),
        bytes(read_file(std::filesystem::path(TALLY_MODEL_PACKAGES) / file_name, ErrorKind::model,
                        "package")) {}
  operator NamedBytes() const { return {name, bytes}; }  // NOLINT(google-explicit-constructor)

  std::string name;
  std::vector<std::byte> bytes;
};

std::unique_ptr<Predictor> load_package(const std::string& name, PredictorOptions options = {}) {
  const PackageFile file(name);
  return load_predictor(file, options);
}

std::string refusal(const std::string& name, const PredictorOptions& options = {}) {
  return error_of(ErrorKind::model, [&] { load_package(name, options); });
}

std::vector<float> scores(Predictor& predictor, const Batch& batch) {
  return run(predictor, batch);
}

void expect_near(const std::vector<float>& found, const std::string& expected, float tolerance) {
  EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(tolerance), read_floats(expected)));
}

// The first `rows` samples of inputs.f32.
Batch first_rows(std::int64_t rows) {
  auto order = in_order();
  order.resize(to_size(rows));
  return channels_last_batch(order);
}

TEST(PackageTest, GivesWhatTheModelGives) {
  auto predictor = load_package("frozen.pt2");
  expect_near(run(*predictor), "other.exact.f32", 1e-5f);
  EXPECT_EQ(predictor->input_dtype(0), DType::f32);
  ASSERT_TRUE(predictor->card());
  EXPECT_FALSE(predictor->card()->weights.are_swappable);
  EXPECT_EQ(predictor->card()->package->precision, "fp32");
}

TEST(PackageTest, AnyLayoutOfTheInputsWillDo) {
  auto predictor = load_package("frozen.pt2");
  EXPECT_THAT(scores(*predictor, contiguous_batch()), ContainerEq(run(*predictor)));
}

TEST(PackageTest, AnyNumberOfRowsWillDo) {
  auto predictor = load_package("frozen.pt2");
  const auto all = run(*predictor);
  for (const std::int64_t rows : {1, 2, 3, 7, 15}) {
    const auto found = scores(*predictor, first_rows(rows));
    const std::vector<float> expected(all.begin(), all.begin() + rows * 10);
    EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(1e-5f), expected)) << rows;
  }
}

TEST(PackageTest, NothingIsOpenOrWrittenAfterLoading) {
  const auto links_to_it = [] {
    std::int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
      if (target.find("tally-model") != std::string::npos) ++count;
    }
    return count;
  };
  const auto predictor = load_package("frozen.pt2");
  EXPECT_EQ(links_to_it(), 0);
}

TEST(PackageTest, SeveralInOneProcessAreNotMistakenForOneAnother) {
  auto one = load_package("frozen.pt2");
  const auto before = run(*one);
  auto other = load_package("swappable.pt2");
  const auto found = run(*other);
  EXPECT_NE(found, before);
  EXPECT_THAT(run(*one), ContainerEq(before));
  one.reset();
  EXPECT_THAT(run(*load_package("swappable.pt2")), ContainerEq(found));
}

TEST(PackageTest, AnotherShapeTypeOrNumberIsRefusedBeforeItRuns) {
  auto predictor = load_package("frozen.pt2");
  std::vector<float> values(3 * 12 * 11 * 2);
  const auto small = contiguous_view(values.data(), DType::f32, {2, 3, 12, 11});
  EXPECT_THAT(error_of(ErrorKind::model,
                       [&] {
                         predictor->predict({&small, 1});
                       }),
              HasSubstr("takes input 'image' [any, 3, 12, 12], it was given [2, 3, 12, 11]"));
  const auto flat = contiguous_view(values.data(), DType::f32, {2, 3 * 12 * 11});
  error_of(ErrorKind::model, [&] { predictor->predict({&flat, 1}); });
  const std::vector<TensorView> two{small, small};
  EXPECT_THAT(error_of(ErrorKind::model, [&] { predictor->predict(two); }),
              HasSubstr("takes 1 inputs, it was given 2"));
}

TEST(PackageTest, DoublesAreRounded) {
  auto predictor = load_package("frozen.pt2");
  const auto floats = contiguous_batch();
  std::vector<double> values(floats.values.begin(), floats.values.end());
  const auto view = contiguous_view(values.data(), DType::f64, {kBatch, kChannels, 12, 12});
  const auto output = predictor->predict({&view, 1}).front();
  const auto* first = output.as<const float>();
  const std::vector<float> found(first, first + num_elements(output.shape));
  EXPECT_THAT(found, ContainerEq(run(*predictor)));
}

TEST(PackageTest, AFixedBatchIsKept) {
  auto predictor = load_package("bf16_of_8.pt2");
  EXPECT_EQ(scores(*predictor, first_rows(8)).size(), 80u);
  for (const std::int64_t rows : {1, 7, 9, 16}) {
    EXPECT_THAT(error_of(ErrorKind::model, [&] { scores(*predictor, first_rows(rows)); }),
                HasSubstr("takes batches of 8 only"));
  }
}

TEST(PackageTest, ALargestBatchIsKept) {
  auto predictor = load_package("at_most_8.pt2");
  for (const std::int64_t rows : {1, 8})
    EXPECT_EQ(scores(*predictor, first_rows(rows)).size(), to_size(rows * 10));
  EXPECT_THAT(error_of(ErrorKind::model, [&] { scores(*predictor, first_rows(9)); }),
              HasSubstr("takes batches of at most 8, it was given 9 (--batch-size)"));
}

TEST(PackageTest, Bfloat16GivesFloats) {
  testing::internal::CaptureStderr();
  auto predictor = load_package("bf16_of_8.pt2");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(predictor->input_dtype(0), DType::bf16);
  const auto found = scores(*predictor, first_rows(8));
  const auto exact = read_floats("other.exact.f32");
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], exact[i], 0.1) << i;
}

TEST(PackageTest, SwappableWeightsAreReplaced) {
  const PackageFile package("swappable.pt2");
  const auto loaded = load_model(package, {});
  // Again and again, whole or in the smallest pieces.
  for (const auto* weights : {"state_dict.pth", "weights.safetensors", "views.pth"}) {
    swap_weights(*loaded, weights::open_checkpoint(fixture_path("bfloat16.pth"), {}));
    expect_near(run(*loaded->make_predictor()), "bfloat16.f32", 1e-5f);
    swap_weights(*loaded, weights::open_checkpoint(fixture_path(weights), {}), 1);
    expect_near(run(*loaded->make_predictor()), "other.f32", 1e-5f);
  }
}

std::string swap_refusal(const std::string& package, const std::string& weights) {
  const PackageFile file(package);
  return error_of(ErrorKind::model, [&] { load(file, {}, weights); });
}

TEST(PackageTest, WeightsThatDoNotFitAreListed) {
  EXPECT_THAT(swap_refusal("swappable.pt2", "misshaped.pth"),
              HasSubstr("fc.bias [7] float32 (the model's: [10] float32)"));
  EXPECT_THAT(swap_refusal("swappable.pt2", "broadcastable.pth"), HasSubstr("bn.weight [1]"));
  EXPECT_THAT(swap_refusal("swappable.pt2", "integers.pth"), HasSubstr("bn.weight [8] int64"));
  EXPECT_THAT(swap_refusal("swappable.pt2", "missing.pth"), HasSubstr("2 missing: fc.bias"));
  EXPECT_THAT(swap_refusal("swappable.pt2", "unexpected.pth"), HasSubstr("1 unexpected"));
}

TEST(PackageTest, FrozenWeightsNameTheFlag) {
  EXPECT_THAT(swap_refusal("frozen.pt2", "state_dict.pth"),
              HasSubstr("Export it again with export_model.py --format pt2 --swappable"));
}

TEST(PackageTest, PrecisionIsBuiltIn) {
  PredictorOptions options;
  options.precision = Precision::fp32;
  expect_near(run(*load_package("frozen.pt2", options)), "other.exact.f32", 1e-5f);
  options.precision = Precision::bf16;
  EXPECT_THAT(
      refusal("frozen.pt2", options),
      HasSubstr("was compiled in fp32, --precision bf16 cannot change that. Export it again "
                "with export_model.py --format pt2 --precision bf16."));
  options.precision = Precision::tf32;
  error_of(ErrorKind::environment, [&] { load_package("frozen.pt2", options); });
}

TEST(PackageTest, AnotherDeviceIsRefused) {
  PredictorOptions options;
  options.device.kind = DeviceKind::cuda;
  EXPECT_THAT(refusal("frozen.pt2", options),
              HasSubstr("the device 'cpu', this run uses 'cuda'. Run with --device cpu"));
}

// Its operators cannot be seen: the card says which ones the exporter found active.
TEST(PackageTest, TrainingModeIsAllowedOnRequest) {
  PredictorOptions options;
  options.allow_training_mode = true;
  const auto predictor = load_package("in_training_mode.pt2", options);
  EXPECT_TRUE(predictor->determinism().is_in_training_mode);
  EXPECT_THAT(predictor->notes(), testing::ElementsAre(HasSubstr("aten::dropout (dropout)")));
  EXPECT_FALSE(load_package("frozen.pt2", options)->determinism().is_in_training_mode);
  EXPECT_TRUE(load_package("frozen.pt2", options)->determinism().is_known);
}

TEST(PackageTest, OneOfAnEarlierExporterIsNotKnownToRepeat) {
  const auto predictor = load_package("of_earlier_exporter.pt2");
  EXPECT_FALSE(predictor->determinism().is_known);
  EXPECT_THAT(predictor->notes(), testing::ElementsAre(HasSubstr("does not say whether")));
}

TEST(PackageTest, IsDescribedWithoutRunningIt) {
  const auto lines = describe_model(PackageFile("frozen.pt2"));
  EXPECT_EQ(lines.at(0), "AOTInductor package (.pt2)");
  EXPECT_THAT(lines, Contains(HasSubstr("compiled for: cpu, linux")));
  EXPECT_THAT(lines, Contains("precision: fp32"));
  EXPECT_THAT(lines, Contains("weights: frozen"));
  EXPECT_THAT(lines, Contains("input image: float32 [batch, 3, 12, 12]"));
  EXPECT_THAT(lines, Contains(HasSubstr(".wrapper.so ")));
  EXPECT_THAT(describe_model(PackageFile("bf16_of_8.pt2")), Contains("batch size: 8 only"));
  EXPECT_THAT(describe_model(PackageFile("no_card.pt2")), Contains("model card: none"));
  EXPECT_THAT(describe_model(PackageFile("no_elf.pt2")), Contains("weights: frozen"));
}

struct Refused {
  const char* package;
  const char* says;
};

class BadPackageTest : public testing::TestWithParam<Refused> {};

TEST_P(BadPackageTest, IsRefusedInOneLine) {
  EXPECT_THAT(refusal(std::string(GetParam().package) + ".pt2"), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPackageTest,
    testing::Values(
        Refused{"damaged", "its compiled library is not the one"},
        Refused{"no_elf", "invalid ELF header"}, Refused{"other_elf", "cannot be loaded"},
        Refused{"short_library", "is damaged"}, Refused{"no_card", "export_model.py --format pt2"},
        Refused{"card_without_facts", "without a card"},
        Refused{"other_machine", "compiled for linux riscv64"},
        Refused{"other_system", "compiled for win32"},
        Refused{"other_processor", "has no avx1024. Export it on this machine"},
        Refused{"other_device", "the device 'cuda', this run uses 'cpu'"},
        Refused{"in_training_mode",
                "was traced in training mode: aten::dropout (dropout) at net.py"},
        Refused{"climbing", "leads out of it"}, Refused{"absolute", "leads out of it"},
        Refused{"two_models", "it holds 2 models"},
        Refused{"two_libraries", "it holds 2 libraries"},
        Refused{"no_library", "it holds no compiled code"}, Refused{"no_metadata", "has no entry"},
        Refused{"kernels_beside", "x.cubin' beside it"},
        Refused{"weights_beside", "weights.blob' beside it"},
        Refused{"compressed", "is compressed"}, Refused{"cut", "was cut short"}),
    [](const auto& test) { return std::string(test.param.package); });

}  // namespace
}  // namespace tally::model
