// SPDX-License-Identifier: Apache-2.0
// The size of batches, how many are sorted by length together, and the threads that read them.
#include "batch_size_and_read_threads.hpp"

#include <gmock/gmock.h>

#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BatchingTest : public SessionFixture {
 protected:
  // Images of one pixel.
  EvaluationSession open_images(std::int64_t num_samples) {
    return open(data::SampleFile{.num_samples = num_samples, .height = 1, .width = 1});
  }
  std::int64_t settled(const EvaluationSession& session) {
    return settled_batch_size(world(), session, notes_);
  }

  Notes notes_;
};

TEST_F(BatchingTest, ASizeThatIsAskedForIsTaken) {
  config_.execution.batch_size = 17;
  EXPECT_EQ(settled(open_images(10)), 17);
  EXPECT_THAT(notes_.all(), IsEmpty());
}

// Batches are filled up to their size. The usual size is small, and stays.
TEST_F(BatchingTest, ASizeAboveTheSamplesIsCutWhereTheModelTakesAny) {
  config_.execution.batch_size = 1'000'000;
  auto session = open_images(200);
  EXPECT_EQ(settled(session), 1'000'000) << "no card says that another size would do";
  EXPECT_THAT(notes_.all(), IsEmpty());
  predictor_of(session).model_card.emplace();
  EXPECT_EQ(settled(session), 200);
  EXPECT_THAT(notes_.all(), ElementsAre("--batch-size 1000000 is more than there are samples: "
                                        "batches have 200"));
  predictor_of(session).model_card->fixed_batch = 1'000'000;
  EXPECT_EQ(settled(session), 1'000'000);
  config_.execution.batch_size = 64;
  auto few = open_images(10);
  predictor_of(few).model_card.emplace();
  EXPECT_EQ(settled(few), 64);
}

TEST_F(BatchingTest, BatchesThatMemoryCannotHoldAreRefused) {
  config_.execution.batch_size = std::int64_t{1} << 42;
  const auto session = open_images(10);
  EXPECT_THAT(agreed_refusal(ErrorKind::environment, [&] { settled(session); }),
              testing::AllOf(testing::HasSubstr("reading batches of 4398046511104 samples takes "),
                             testing::EndsWith("Use a smaller --batch-size.")));
}

TEST_F(BatchingTest, AutoTakesTheOnlySizeOfAModel) {
  config_.execution.batch_size = config::kAutoBatchSize;
  auto session = open_images(10);
  predictor_of(session).model_card.emplace().fixed_batch = 32;
  EXPECT_EQ(settled(session), 32);
  EXPECT_THAT(notes_.all(), ElementsAre("--batch-size auto chose 32 without trying others: with "
                                        "this number the digests come again"));
}

// From 64 on it is halved until each rank has four batches and at most a tenth of what rank 0
// computes is too much. 200 samples, one rank: of 64 there are 4, which compute 256; of 32, 7 for
// 224; of 16, 13 for 208, which is less than a tenth more. By 2 ranks: 13 of 16 are 7 and 6, and 7
// are 112 where 100 would do; 25 of 8 are 13, for 104. By 3: 9 of 8 are 72 where 67 would do. By 5
// each has 5 of 8.
TEST_F(BatchingTest, AutoSharesASmallSetOutEvenly) {
  config_.execution.batch_size = config::kAutoBatchSize;
  const std::map<std::int64_t, std::int64_t> of_200{{1, 16}, {2, 8}, {3, 8}, {5, 8}};
  // Five batches of two, or ten of one.
  const std::map<std::int64_t, std::int64_t> of_10{{1, 2}, {2, 1}, {3, 1}, {5, 1}};
  EXPECT_EQ(settled(open_images(200)), of_200.at(size()));
  EXPECT_EQ(settled(open_images(10)), of_10.at(size()));
  EXPECT_EQ(predictor_of(open_images(10)).num_calls, 0);
}

TEST_F(BatchingTest, AutoTakesNoMoreThanTheModelDoes) {
  config_.execution.batch_size = config::kAutoBatchSize;
  auto session = open_images(200);
  predictor_of(session).model_card.emplace().package.emplace().largest_batch = 7;
  EXPECT_EQ(settled(session), 4);
}

// Four threads share batches from 16 on: even shares are worth no batch that they cannot share.
TEST_F(BatchingTest, AutoLeavesThreadsWork) {
  config_.execution.batch_size = config::kAutoBatchSize;
  config_.execution.threads = 4;
  EXPECT_EQ(settled(open_images(200)), 16);
  EXPECT_EQ(settled(open_images(10)), 16);
}

// Rank 0 tries sizes where a set is large enough for that; the others hear of it.
TEST_F(BatchingTest, AFailureOfRankZeroThatTriesSizesEndsAll) {
  config_.execution.batch_size = config::kAutoBatchSize;
  config_.files.model = "net.pt";
  auto session = open_images(1024 * size());
  predictor_of(session).score = [](std::int64_t) -> float {
    throw Error(ErrorKind::model, "an operator is missing");
  };
  EXPECT_EQ(agreed_refusal(ErrorKind::model, [&] { settled(session); }),
            "model 'net.pt': an operator is missing");
  EXPECT_EQ(predictor_of(session).num_calls, rank() == 0 ? 1 : 0);
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(BatchingTest, ThreadsShareBatchesOfFourSamplesForEach) {
  EXPECT_TRUE(threads_share(open_images(10), 1)) << "one thread shares nothing";
  config_.execution.threads = 3;
  auto session = open_images(10);
  EXPECT_FALSE(threads_share(session, 11));
  EXPECT_TRUE(threads_share(session, 12));
  session.hardware.device.kind = DeviceKind::cuda;
  EXPECT_TRUE(threads_share(session, 1)) << "a GPU computes";
}

TEST_F(BatchingTest, OneThreadReadsWhereTheCpuComputes) {
  const device::Device cpu, gpu{.kind = DeviceKind::cuda, .index = 0, .model = "a GPU"};
  config::ReadingOptions options;
  EXPECT_EQ(read_threads_for(options, cpu, 1), 1);
  EXPECT_EQ(read_threads_for(options, gpu, 1 << 20), 1) << "more ranks than cores";
  EXPECT_GE(read_threads_for(options, gpu, 1), 1);
  EXPECT_LE(read_threads_for(options, gpu, 1), 8);
  options.threads = 11;
  EXPECT_EQ(read_threads_for(options, cpu, 1), 11);
  EXPECT_EQ(read_threads_for(options, gpu, 4), 11);
}

// Documents of twelve windows, which are padded.
class SortingTest : public BatchingTest {
 protected:
  EvaluationSession open_documents(std::int64_t batch_size) {
    batch_size_ = batch_size;
    data::TokenFile file{.task = "language-model", .rows = {}, .ids = {"a"}};
    file.rows.assign(12, {0, {1, 2}});
    file.bytes = file.words = {24};
    return open(file);
  }
  static model::ModelCard card_of(const Shape& shape) {
    model::ModelCard card;
    for (const char* input : {"input_ids", "attention_mask"}) {
      auto& spec = card.inputs.emplace_back();
      spec.name = input;
      spec.shape = shape;
    }
    return card;
  }
};

TEST_F(SortingTest, AModelThatTakesAnyLengthGetsSamplesByLength) {
  auto session = open_documents(1);
  predictor_of(session).model_card = card_of({-1, -1});
  EXPECT_EQ(batches_per_block(session, notes_), 8) << "as many as by default";
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(SortingTest, ABlockIsNoLongerThanTheSet) {
  auto session = open_documents(5);
  predictor_of(session).model_card = card_of({-1, -1});
  EXPECT_EQ(batches_per_block(session, notes_), 3);
}

TEST_F(SortingTest, WhatHasOneLengthStaysInOrder) {
  auto session = open_documents(1);
  predictor_of(session).model_card = card_of({-1, 6});
  EXPECT_EQ(batches_per_block(session, notes_), 1);
  EXPECT_EQ(batches_per_block(open_images(10), notes_), 1) << "images have no lengths";
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(SortingTest, WithoutACardPaddingIsComputed) {
  EXPECT_EQ(batches_per_block(open_documents(1), notes_), 1);
  EXPECT_THAT(notes_.all(), ElementsAre("padding is computed: the model has no card that says it "
                                        "takes sequences of any length"));
}

TEST_F(SortingTest, TheUserMayWantTheOrderOfTheSet) {
  config_.execution.bucket_batches = 1;
  EXPECT_EQ(batches_per_block(open_documents(1), notes_), 1);
  EXPECT_THAT(notes_.all(), IsEmpty());
}

}  // namespace
}  // namespace tally::app
