// SPDX-License-Identifier: Apache-2.0
// What a user hears of a session before it runs.
#include "session_notes.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "object_file.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "target_file.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SessionNotesTest : public SessionFixture {
 protected:
  std::vector<std::string> notes_of_model(const EvaluationSession& session) {
    Notes notes;
    note_model(session, notes);
    return notes.all();
  }
  // Of so many samples in batches of that size, which this many ranks share.
  std::vector<std::string> notes_of_balance(std::int64_t num_samples, std::int64_t batch_size,
                                            int world_size, std::int64_t batches_per_block = 1) {
    auto session = open(data::SampleFile{});
    session.plan.grid.emplace(num_samples, batch_size, batches_per_block);
    Notes notes;
    note_balance(session, world_size, notes);
    return notes.all();
  }
  std::vector<std::string> notes_of_limit(const EvaluationSession& session) {
    Notes notes;
    note_limit(session, notes);
    return notes.all();
  }
};

TEST_F(SessionNotesTest, AModelWithoutACardIsTakenToReturnLogits) {
  EXPECT_THAT(notes_of_model(open(data::SampleFile{})),
              ElementsAre("the model has no card: its outputs are taken as logits (--outputs says "
                          "otherwise)"));
  auto session = open(data::SampleFile{});
  predictor_of(session).model_card.emplace();
  EXPECT_THAT(notes_of_model(session), IsEmpty());
  EXPECT_THAT(notes_of_model(open(data::regression_file(1, {0.5F}))), IsEmpty())
      << "values are no scores";
  config_.scoring.outputs = "probabilities";
  EXPECT_THAT(notes_of_model(open(data::SampleFile{})), IsEmpty()) << "the user said it";
  config_.scoring.outputs = "";
  config_.files.predictions = "p.h5";
  EXPECT_THAT(notes_of_model(open(data::SampleFile{})), IsEmpty()) << "there is no model";
}

TEST_F(SessionNotesTest, RandomWeightsAreNamedUnlessOthersTakeTheirPlace) {
  const auto open_random = [&] {
    auto session = open(data::SampleFile{});
    predictor_of(session).model_card.emplace().weights.are_random = true;
    return session;
  };
  EXPECT_THAT(notes_of_model(open_random()),
              ElementsAre("the weights are random: the model was exported without --weights"));
  auto session = open_random();
  session.model.weights.emplace();
  EXPECT_THAT(notes_of_model(session), IsEmpty());
  config_.watch.checkpoints = "checkpoints";
  EXPECT_THAT(notes_of_model(open_random()), IsEmpty());
}

// Two ranks share 100 samples: 50 each would do, but a batch of 64 is filled up.
TEST_F(SessionNotesTest, ABatchSizeThatWastesLessIsNamed) {
  EXPECT_THAT(notes_of_balance(100, 64, 2),
              ElementsAre("rank 0 computes 64 samples where 50 would do, for ranks take whole "
                          "batches, filled up; --batch-size 50 wastes less"));
  EXPECT_THAT(notes_of_balance(128, 64, 2), IsEmpty()) << "no sample too much";
  EXPECT_THAT(notes_of_balance(116, 64, 2), IsEmpty()) << "58 of 64: less than a tenth";
  EXPECT_THAT(notes_of_balance(3, 1, 5), IsEmpty()) << "a sample is not cut";
  EXPECT_THAT(notes_of_balance(0, 64, 3), IsEmpty());
}

TEST_F(SessionNotesTest, OneSmallBatchMayBeFilledUp) {
  EXPECT_THAT(notes_of_balance(40, 64, 1), IsEmpty());
  EXPECT_THAT(notes_of_balance(40, 128, 1), ElementsAre(HasSubstr("--batch-size 40")));
}

// Thirteen batches of 8 are blocks of 8 and of 5.
TEST_F(SessionNotesTest, WholeBlocksMayWasteMore) {
  EXPECT_THAT(notes_of_balance(100, 8, 2, 8),
              ElementsAre("rank 0 computes 64 samples where 50 would do, for ranks take whole "
                          "blocks of 8 batches; a smaller --bucket-batches or --batch-size wastes "
                          "less"));
}

// 20 threads share batches from 80 samples on.
TEST_F(SessionNotesTest, NoSizeIsNamedThatThreadsCannotShare) {
  config_.execution.threads = 20;
  EXPECT_THAT(notes_of_balance(100, 64, 2), IsEmpty());
}

TEST_F(SessionNotesTest, AModelOfOneSizeHasNoBetterOne) {
  auto session = open(data::SampleFile{});
  predictor_of(session).model_card.emplace().fixed_batch = 64;
  session.plan.grid.emplace(100, 64);
  Notes notes;
  note_balance(session, 2, notes);
  EXPECT_THAT(notes.all(), IsEmpty());
}

TEST_F(SessionNotesTest, ALimitBeyondTheSetIsNamed) {
  config_.scoring.limit = 10;
  EXPECT_THAT(notes_of_limit(open(data::SampleFile{})), IsEmpty());
  config_.scoring.limit = 11;
  EXPECT_THAT(notes_of_limit(open(data::SampleFile{})),
              ElementsAre("--limit 11 is more than the 10 samples of the data set"));
  auto session = open(data::document_file());
  session.source = std::make_unique<GivenSource>(true);
  EXPECT_THAT(notes_of_limit(session),
              ElementsAre("--limit 11 is more than the 3 documents of the data set"));
}

}  // namespace
}  // namespace tally::app
