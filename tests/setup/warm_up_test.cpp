// SPDX-License-Identifier: Apache-2.0
// Making a predictor ready: all ranks run it alike, and what does not fit fails on all of them.
#include <tally/setup/warm_up.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/files.hpp>
#include <tally/digest/sha256_and_checksums.hpp>

#include "broadcast_weights.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using model::CpuExecutionSettings;
using model::CpuKernels;
using testing::ElementsAre;
using testing::IsEmpty;

// A model of one tensor, of which each predictor runs one batch after the other.
class GivenModel final : public model::LoadedModel {
 public:
  model::StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint) override {
    if (!checkpoint.tensors.contains("fc")) throw Error(ErrorKind::model, "missing: fc");
    return {.names = {"fc"}, .prefix = "", .notes = {"epoch is passed over"}};
  }
  void copy_tensor_part(const std::string& /*name*/, const weights::StoredPart& /*part*/,
                        std::span<const std::byte> part) override {
    bytes.assign(part.begin(), part.end());
  }
  void commit() override {}
  std::size_t num_tensors() override { return 1; }
  std::string tensor_digest(std::size_t /*tensor*/) override {
    return "fc uint8 [4] " + digest::sha256_hex(bytes);
  }
  std::unique_ptr<model::Predictor> make_predictor() override {
    if (is_broken) throw Error(ErrorKind::model, "it cannot be built");
    return std::make_unique<GivenPredictor>(5);
  }
  std::unique_ptr<model::Predictor> into_predictor() override { return make_predictor(); }

  std::vector<std::byte> bytes;
  bool is_broken = false;
};

class WarmUpTest : public SessionFixture {
 protected:
  WarmUpTest() { config_.files.model = "net.pt"; }

  // A safetensors file of one tensor of four bytes.
  weights::Checkpoint checkpoint_of(const std::string& tensor) {
    path_ = folder_ / (tensor + ".safetensors");
    if (world().is_root()) {
      const std::string header =
          "{\"" + tensor + "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
      const std::uint64_t length = header.size();
      std::array<char, sizeof length> begin{};
      std::memcpy(begin.data(), &length, sizeof length);
      std::ofstream(path_, std::ios::binary)
          << std::string_view(begin.data(), begin.size()) << header << "abcd";
    }
    world().barrier();
    return open_on_all(world(), path_, {});
  }
  // A session of a watch, whose model waits for weights.
  EvaluationSession open_watch() {
    auto session = open(data::SampleFile{});
    session.model.loaded = std::make_unique<GivenModel>();
    return session;
  }
  static GivenModel& model_of(const EvaluationSession& session) {
    return dynamic_cast<GivenModel&>(*session.model.loaded);
  }

  std::filesystem::path path_;
  Notes notes_;
};

TEST_F(WarmUpTest, InputsAreBoundAndABatchRuns) {
  auto session = open(data::SampleFile{});
  warm_up(world(), session, notes_);
  ASSERT_EQ(session.execution.inputs->bindings.size(), 1U);
  EXPECT_EQ(session.execution.inputs->bindings[0].source, 0U);
  EXPECT_NE(session.execution.inputs->bindings[0].normalise, nullptr) << "they are images";
  EXPECT_EQ(predictor_of(session).num_calls, 1);
  EXPECT_FALSE(session.execution.varies);
  EXPECT_FALSE(session.execution.way.has_value());
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(WarmUpTest, WhatOneRankCannotCompileAllRunAsItIs) {
  auto session = open(data::SampleFile{});
  predictor_of(session).compiled_form = is_last() && size() > 1 ? "" : "oneDNN Graph";
  warm_up(world(), session, notes_);
  if (size() == 1) {
    EXPECT_EQ(predictor_of(session).form(), "oneDNN Graph");
    EXPECT_THAT(notes_.all(), IsEmpty());
    return;
  }
  EXPECT_EQ(session.execution.way, (CpuExecutionSettings{CpuKernels::torch, 0}));
  EXPECT_EQ(predictor_of(session).form(), "");
  EXPECT_EQ(predictor_of(session).num_calls, 2) << "it runs once more, in the new way";
  EXPECT_THAT(notes_.all(), ElementsAre("the ranks cannot compile the model alike: all run "
                                        "LibTorch's operators alone, which is slower"));
}

TEST_F(WarmUpTest, AModelThatDoesNotFitOnOneRankEndsAll) {
  auto session = open(data::SampleFile{});
  if (is_last()) session.model.predictor = std::make_unique<GivenPredictor>(4);
  EXPECT_THAT(agreed_refusal(ErrorKind::model, [&] { warm_up(world(), session, notes_); }),
              testing::StartsWith("model 'net.pt': "));
}

TEST_F(WarmUpTest, ThatScoresVaryIsKnownAfterwards) {
  config_.execution.allow_training_mode = true;
  auto session = open(data::SampleFile{});
  predictor_of(session).found.is_known = false;
  predictor_of(session).score = [](std::int64_t call) { return static_cast<float>(call); };
  warm_up(world(), session, notes_);
  EXPECT_TRUE(session.execution.varies);
}

TEST_F(WarmUpTest, AWayStaysInForceForLaterWeights) {
  auto session = open_watch();
  use_way(world(), session, {CpuKernels::own, 2}, notes_);
  EXPECT_THAT(predictor_of(session).used, ElementsAre(CpuExecutionSettings{CpuKernels::own, 2}));
  take_weights(world(), session, checkpoint_of("fc"));
  EXPECT_EQ(session.model.predictor, nullptr) << "two would take more memory";
  build_predictor(world(), session, notes_);
  EXPECT_THAT(predictor_of(session).used, ElementsAre(CpuExecutionSettings{CpuKernels::own, 2}));
  EXPECT_EQ(predictor_of(session).num_calls, 1);
}

TEST_F(WarmUpTest, WeightsAreKnownByTheirDigests) {
  auto session = open_watch();
  EXPECT_THAT(take_weights(world(), session, checkpoint_of("fc")),
              ElementsAre("epoch is passed over"));
  const auto& file = session.model.weights.value();
  const auto content = read_file(path_, ErrorKind::model, "checkpoint");
  EXPECT_EQ(file.path, path_.string());
  EXPECT_EQ(file.bytes, std::ssize(content));
  EXPECT_EQ(file.num_files, 1);
  EXPECT_EQ(file.sha256, digest::sha256_hex(content));
  EXPECT_EQ(world().broadcast(file.tensors_sha256), file.tensors_sha256);
  EXPECT_EQ(as_text(model_of(session).bytes), "abcd");
}

TEST_F(WarmUpTest, AfterWeightsThatDoNotFitOthersMayCome) {
  auto session = open_watch();
  EXPECT_EQ(agreed_refusal(ErrorKind::model,
                           [&] { take_weights(world(), session, checkpoint_of("head")); }),
            "missing: fc");
  EXPECT_FALSE(session.model.weights.has_value());
  take_weights(world(), session, checkpoint_of("fc"));
  build_predictor(world(), session, notes_);
  EXPECT_EQ(predictor_of(session).num_calls, 1);
}

TEST_F(WarmUpTest, APredictorThatOneRankCannotBuildEndsAll) {
  auto session = open_watch();
  model_of(session).is_broken = is_last();
  EXPECT_EQ(agreed_refusal(ErrorKind::model, [&] { build_predictor(world(), session, notes_); }),
            "it cannot be built");
}

}  // namespace
}  // namespace tally::app
