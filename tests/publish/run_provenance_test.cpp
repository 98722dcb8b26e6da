// SPDX-License-Identifier: Apache-2.0
// Where a result comes from: what its bits depend on, and what is recorded with it.
#include "run_provenance.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include <tally/model/torch_info.hpp>

#include "gather_predictions.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class NcclByName final : public comm::Reducer {
 public:
  void sum(std::span<std::int64_t>) override {}
  std::string_view name() const override { return "nccl"; }
  std::string description() const override { return "nccl"; }
};

class EnvironmentTest : public SessionFixture {
 protected:
  EnvironmentTest() { config_.files.model = "net.pt"; }
};

TEST_F(EnvironmentTest, TheFormIsThatOfWhatComputes) {
  auto session = open(data::SampleFile{});
  EXPECT_EQ(form_of(session), "TorchScript");
  predictor_of(session).compiled_form = "oneDNN Graph";
  EXPECT_EQ(form_of(session), "TorchScript, oneDNN Graph");
  predictor_of(session).model_card.emplace().package.emplace().precision = "bf16";
  EXPECT_EQ(form_of(session), "compiled package, bf16");
  config_.files.predictions = "p.h5";
  EXPECT_EQ(form_of(open(data::SampleFile{})), "saved predictions");
}

TEST_F(EnvironmentTest, TheBackendIsThatOfWhatComputes) {
  auto session = open(data::SampleFile{});
  EXPECT_THAT(backend_of(session),
              ElementsAre(Pair("torch", "not loaded"), Pair("backend", "none")));
  predictor_of(session).computes_in = "LibTorch 2, AVX2";
  EXPECT_THAT(backend_of(session), ElementsAre(Pair("torch", model::torch_version()),
                                               Pair("backend", "LibTorch 2, AVX2")));
}

// Whatever may change the bits of a result makes another class.
TEST_F(EnvironmentTest, TheDigestClassDependsOnWhatIsCounted) {
  const auto base = digest_class(open(data::SampleFile{}));
  const auto with = [&](const std::function<void(EvaluationSession&)>& change) {
    auto session = open(data::SampleFile{});
    change(session);
    return digest_class(session);
  };
  EXPECT_EQ(with([](auto&) {}), base);
  const std::set<std::string> all{
      base,
      with([](auto& s) { s.hardware.device.model = "another processor"; }),
      with([&](auto& s) { predictor_of(s).computes_in = "LibTorch 3"; }),
      with([](auto& s) { s.execution.batch_size = 5; }),
      with([](auto& s) { s.plan.grid.emplace(10, 4, 2); }),
      with([](auto& s) { s.plan.grid.emplace(9, 4); }),
      with([](auto& s) { s.model.model.digest = "another model"; }),
      with([](auto& s) { s.model.weights.emplace().tensors_sha256 = "other weights"; }),
      with([](auto& s) { s.model.card_digest = "another card"; }),
      with([](auto& s) { s.data.file.digest = "other data"; }),
      with([](auto& s) { s.scoring.outputs = metrics::OutputKind::probabilities; }),
      with([](auto& s) { s.scoring.class_weights_digest = "0a1b"; }),
      with([](auto& s) { predictor_of(s).compiled_form = "oneDNN Graph"; }),
      with([](auto& s) { s.execution.inputs->notes.push_back("another normalisation"); }),
      digest_class(open(data::SampleFile{}, {.metrics = {.names = {"accuracy"}}})),
      digest_class(open(data::SampleFile{}, {.save = {tasks::SaveColumns::labels}}))};
  EXPECT_EQ(all.size(), 16U);
  // Where files lie is no matter.
  EXPECT_EQ(with([](auto& s) { s.output.folder = "elsewhere"; }), base);
  EXPECT_EQ(with([](auto& s) { s.model.model.path = "elsewhere.pt"; }), base);
  EXPECT_EQ(with([](auto& s) { s.plan.read_threads = 7; }), base);
}

TEST_F(EnvironmentTest, TheDigestClassDependsOnKernelsByTheEnvironment) {
  const auto session = open(data::SampleFile{});
  const auto base = digest_class(session);
  setenv("ONEDNN_DEFAULT_FPMATH_MODE", "BF16", 1);
  EXPECT_NE(digest_class(session), base);
  unsetenv("ONEDNN_DEFAULT_FPMATH_MODE");
  EXPECT_EQ(digest_class(session), base);
}

// An environment may hold secrets.
TEST_F(EnvironmentTest, OnlyNamedVariablesReachTheReport) {
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("WANDB_API_KEY", "a-secret-of-the-user", 1);
  const auto entries = environment_of(world());
  unsetenv("SLURM_JOB_ID");
  unsetenv("WANDB_API_KEY");
  EXPECT_THAT(entries, testing::Contains(Pair("SLURM_JOB_ID", "4711")));
  EXPECT_THAT(entries, testing::Contains(Pair("world_size", std::to_string(size()))));
  for (const auto& [name, value] : entries) EXPECT_THAT(value, Not(HasSubstr("a-secret"))) << name;
}

// Open MPI's launcher hands a key to its ranks by such a variable.
TEST_F(EnvironmentTest, ParametersOfOpenMpiAreThereByNameAlone) {
  setenv("OMPI_MCA_btl_tcp_if_include", "the-value", 1);
  setenv("OMPI_MCA_orte_precondition_transports", "the-key", 1);
  const auto entries = environment_of(world());
  unsetenv("OMPI_MCA_btl_tcp_if_include");
  unsetenv("OMPI_MCA_orte_precondition_transports");
  EXPECT_THAT(entries,
              testing::Contains(Pair("open_mpi_parameters", HasSubstr("btl_tcp_if_include"))));
  for (const auto& [name, value] : entries) {
    EXPECT_THAT(value, Not(AnyOf(HasSubstr("the-value"), HasSubstr("the-key"), HasSubstr("orte_"))))
        << name;
  }
}

TEST_F(EnvironmentTest, CodeThatTheEnvironmentLoadsIsRecordedAndMakesNoOtherClass) {
  const auto session = open(data::SampleFile{});
  const auto base = digest_class(session);
  setenv("CUDA_INJECTION64_PATH", "/site/libinjected.so", 1);
  const auto entries = environment_of(world());
  EXPECT_EQ(digest_class(session), base);
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_THAT(entries, testing::Contains(Pair("CUDA_INJECTION64_PATH", "/site/libinjected.so")));
}

TEST_F(EnvironmentTest, VariablesOfNcclAreThereWhereItRunsButForTheSecretOne) {
  auto session = open(data::SampleFile{});
  session.hardware.device.kind = DeviceKind::cuda;
  session.reducer = std::make_unique<NcclByName>();
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_SOCKET_MAGIC", "4711", 1);
  const auto settings = device_settings(session);
  unsetenv("NCCL_DEBUG");
  unsetenv("NCCL_SOCKET_MAGIC");
  EXPECT_THAT(settings, testing::Contains(Pair("NCCL_DEBUG", "INFO")));
  EXPECT_THAT(settings, testing::Contains(Pair("NCCL_SOCKET_MAGIC", Not("4711"))));
}

TEST_F(EnvironmentTest, StatisticsOfGpusAreThereWhereOneComputes) {
  auto session = open(data::SampleFile{});
  EXPECT_THAT(device_settings(session), testing::IsEmpty());
  session.hardware.device.kind = DeviceKind::cuda;
  session.hardware.gpus.driver_version = 13020;
  session.hardware.gpus.runtime_version = 12080;
  session.hardware.gpu_versions.cudnn = 91900;
  setenv("NCCL_DEBUG", "INFO", 1);
  EXPECT_THAT(device_settings(session),
              testing::ElementsAre(Pair("cuda_driver", "13.2"), Pair("cuda_runtime", "12.8"),
                                   Pair("cudnn", "91900"), Pair("reducer", "mpi"),
                                   Pair("cuda_graph", "not used")))
      << "variables of NCCL are nothing to MPI";
  unsetenv("NCCL_DEBUG");
}

TEST_F(EnvironmentTest, SavedRowsNameWhatTheyWereMadeFrom) {
  auto session = open(data::SampleFile{});
  const auto attributes = prediction_attributes(session, "digest of the rows");
  EXPECT_EQ(attributes.at("model"), "net.pt");
  EXPECT_EQ(attributes.at("model_sha256"), "digest of the model");
  EXPECT_EQ(attributes.at("data"), session.data.file.path);
  EXPECT_EQ(attributes.at("data_identity"), session.data.file.digest);
  EXPECT_EQ(attributes.at("digest"), "digest of the rows");
  EXPECT_EQ(attributes.at("task"), "multiclass");
  EXPECT_EQ(attributes.count("weights_sha256"), 0U);
  EXPECT_EQ(attributes.count("data_samples"), 0U);
  session.data.samples = "of the samples";
  EXPECT_EQ(prediction_attributes(session, "").at("data_samples"), "of the samples");
  session.model.weights.emplace().tensors_sha256 = "of the tensors";
  EXPECT_EQ(prediction_attributes(session, "").at("weights_sha256"), "of the tensors");
  session.model.weights->sha256 = "of the file";
  EXPECT_EQ(prediction_attributes(session, "").at("weights_sha256"), "of the file");
}

}  // namespace
}  // namespace tally::app
