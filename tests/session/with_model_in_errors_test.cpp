// SPDX-License-Identifier: Apache-2.0
// Failures of a model get the name of the file that a user has to look at.
#include <tally/session/with_model_in_errors.hpp>

#include <gmock/gmock.h>

#include <stdexcept>

#include "expect_error.hpp"
#include "object_file.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

class ModelErrorsTest : public SessionFixture {
 protected:
  ModelErrorsTest() { config_.files.model = "net.pt"; }

  static void expect(const EvaluationSession& session, const Error& thrown, ErrorKind kind,
                     const std::string& text) {
    int num_calls = 0;
    std::string found;
    expect_error(kind, {}, [&] {
      try {
        with_model_in_errors(session, [&] {
          ++num_calls;
          throw thrown;
        });
      } catch (const Error& error) {
        found = error.what();
        throw;
      }
    });
    EXPECT_EQ(found, text);
    EXPECT_EQ(num_calls, 1);
  }
  static model::ModelCard card_of(const std::string& input) {
    model::ModelCard card;
    card.inputs.emplace_back().name = input;
    return card;
  }
};

TEST_F(ModelErrorsTest, AStepThatSucceedsRunsOnce) {
  int num_calls = 0;
  with_model_in_errors(open(data::SampleFile{}), [&] { ++num_calls; });
  EXPECT_EQ(num_calls, 1);
}

TEST_F(ModelErrorsTest, TheModelIsNamedOnce) {
  const auto session = open(data::SampleFile{});
  expect(session, {ErrorKind::model, "wrong shape"}, ErrorKind::model,
         "model 'net.pt': wrong shape");
  expect(session, {ErrorKind::model, "model 'net.pt' fails", "Export it again."}, ErrorKind::model,
         "model 'net.pt' fails. Export it again.");
  // Another file, whose name begins alike.
  expect(session, {ErrorKind::model, "model 'net.pt2' fails"}, ErrorKind::model,
         "model 'net.pt': model 'net.pt2' fails");
}

TEST_F(ModelErrorsTest, OtherFailuresStayAsTheyAre) {
  const auto session = open(data::SampleFile{});
  for (const auto kind : {ErrorKind::usage, ErrorKind::dataset, ErrorKind::environment,
                          ErrorKind::output, ErrorKind::numeric, ErrorKind::internal}) {
    expect(session, {kind, "as it was"}, kind, "as it was");
  }
  EXPECT_THROW(with_model_in_errors(session, [] { throw std::logic_error("no Error"); }),
               std::logic_error);
}

TEST_F(ModelErrorsTest, SavedPredictionsAreToBlameForThemselves) {
  config_.files.predictions = "p\n.h5";
  auto session = open(data::SampleFile{});
  session.model.model.path = "p\n.h5";
  expect(session, {ErrorKind::model, "wrong shape"}, ErrorKind::dataset,
         "predictions file 'p\\x0a.h5': wrong shape");
  expect(session, {ErrorKind::numeric, "NaN"}, ErrorKind::numeric, "NaN");
}

// The images were left out of the file: no model could be given anything.
TEST_F(ModelErrorsTest, ADataSetOfNumbersAloneIsToBlame) {
  const auto session = open(data::ObjectFile{});
  const auto text =
      "data set '" + session.data.file.path +
      "' has no inputs for a model, only a number for each sample (/inputs/index). Score saved "
      "results with 'tally score', or prepare it with --images.";
  const Error failure(ErrorKind::model, "the model wants an input 'image'");
  expect(session, failure, ErrorKind::dataset, text);
  predictor_of(session).arguments = {"image"};
  expect(session, failure, ErrorKind::dataset, text);
  predictor_of(session).model_card = card_of("image");
  predictor_of(session).arguments = {"index"};
  expect(session, failure, ErrorKind::dataset, text);
}

TEST_F(ModelErrorsTest, AModelThatWantsTheNumberIsToBlameItself) {
  const auto session = open(data::ObjectFile{});
  const Error failure(ErrorKind::model, "it has no boxes");
  predictor_of(session).arguments = {"index"};
  expect(session, failure, ErrorKind::model, "model 'net.pt': it has no boxes");
  predictor_of(session).arguments = {};
  predictor_of(session).model_card = card_of("index");
  expect(session, failure, ErrorKind::model, "model 'net.pt': it has no boxes");
}

}  // namespace
}  // namespace tally::app
