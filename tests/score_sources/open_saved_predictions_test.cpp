// SPDX-License-Identifier: Apache-2.0
// What --predictions names, opened on all ranks for each kind of task.
#include <tally/score_sources/open_saved_predictions.hpp>

#include <tally/base/files.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/setup/open_inputs.hpp>

#include "object_file.hpp"
#include "question_file.hpp"
#include "sample_file.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OpenSavedPredictionsTest : public ScoreTest {
 protected:
  SavedPredictionsInput open_for(const std::string& task, const std::string& predictions) {
    config_.files.predictions = predictions;
    const auto data = open_data(world(), config_);
    return open_saved_predictions(world(), config_, task, data, notes_);
  }
  std::string refused(ErrorKind kind, const std::string& task, const std::string& predictions) {
    return refusal_of(kind, [&] { open_for(task, predictions); });
  }
  // Of two samples of five classes.
  void use_samples() { use_data(data::SampleFile{.num_samples = 2}); }
  std::string save_logits(const std::string& name, const std::string& identity = "") {
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile saved(path, "multiclass");
      saved.put("logits", {2, 5}, std::vector<float>(10)).set("data", "train.h5");
      if (!identity.empty()) saved.set("data_identity", identity);
      saved.close();
    });
  }
  std::string save_documents(const std::string& name, const std::string& identity) {
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile saved(path, "language-model");
      saved.each<std::int64_t>("index", {0, 1, 2}).set("data", "train.h5");
      saved.set("data_identity", identity).close();
    });
  }
};

TEST_F(OpenSavedPredictionsTest, AllRanksKnowTheFileByItsDigest) {
  use_samples();
  const auto path = save_logits("p.h5");
  const auto opened = open_for("multiclass", path);
  EXPECT_EQ(opened.model.model.path, path);
  EXPECT_EQ(opened.model.model.digest,
            digest::sha256_hex(read_file(path, ErrorKind::internal, "test file")));
  ASSERT_NE(opened.set, nullptr);
  ASSERT_EQ(opened.set->info().columns.inputs.size(), 1U);
  EXPECT_EQ(opened.set->info().columns.inputs[0].path, "/logits");
  EXPECT_EQ(opened.outputs, metrics::OutputKind::logits);
  EXPECT_TRUE(opened.source->runs_predictor()) << "one that passes the column on";
  EXPECT_FALSE(opened.source->is_rescoring_units());
}

TEST_F(OpenSavedPredictionsTest, AFolderStandsForThePredictionsOfItsResult) {
  use_samples();
  const auto path = save_logits("result/predictions.h5");
  const auto folder = std::filesystem::path(path).parent_path().string();
  EXPECT_EQ(open_for("multiclass", folder).model.model.path, path);
  EXPECT_EQ(open_for("multiclass", folder + "/").model.model.digest,
            open_for("multiclass", path).model.model.digest);
}

TEST_F(OpenSavedPredictionsTest, WhatCannotBeReadIsRefusedForEveryTask) {
  use_samples();
  const auto folder = std::filesystem::path(save_logits("other/p.h5")).parent_path().string();
  for (const char* task : {"multiclass", "question-answering", "detection", "language-model"}) {
    const auto none = folder + "/none.h5";
    EXPECT_EQ(
        refused(ErrorKind::dataset, task, none),
        "cannot read predictions file '" + none + "' (No such file or directory). Check the path.");
    EXPECT_EQ(refused(ErrorKind::dataset, task, folder),
              "predictions file '" + folder +
                  "' cannot be read (it is a folder). Name the predictions.h5 of a result that was "
                  "made with --save, or a file of predictions.");
  }
}

TEST_F(OpenSavedPredictionsTest, JsonIsNotScoredWhereColumnsAre) {
  use_samples();
  const auto path = text_file("p.json", "{}");
  EXPECT_EQ(refused(ErrorKind::dataset, "multiple-choice", path),
            "predictions file '" + path +
                "' is no predictions.h5, of which the task multiple-choice is scored. Name the "
                "predictions.h5 of a result, or the data set that these are of.");
  for (const std::string task : {"multiclass", "regression"}) {
    EXPECT_EQ(refused(ErrorKind::dataset, task, path),
              "predictions file '" + path +
                  "' is no predictions.h5, .npy or .csv file, of which the task " + task +
                  " is scored. Make a predictions.h5 of a .npz, .tsv or .parquet file with "
                  "data_tools/prepare_predictions.py, or name the data set that these are of.");
  }
}

TEST_F(OpenSavedPredictionsTest, WhatIsOnlyPredictedHasNothingToScore) {
  use_samples();
  EXPECT_EQ(refused(ErrorKind::usage, "predict", save_logits("p.h5")),
            "the task 'predict' has no metrics to score. Leave --task out.");
}

TEST_F(OpenSavedPredictionsTest, TagsAreNotScoredYet) {
  use_data(data::tag_file());
  const auto refusal = refused(ErrorKind::usage, "token-classification", save_logits("p.h5"));
  EXPECT_THAT(refusal, HasSubstr("the task token-classification cannot be scored"));
}

TEST_F(OpenSavedPredictionsTest, SavedUnitsAreScoredWithoutAPredictor) {
  use_data(data::document_file());
  const auto documents = open_for("language-model", save_documents("d.h5", "ab12"));
  EXPECT_FALSE(documents.source->runs_predictor());
  EXPECT_TRUE(documents.source->is_rescoring_units());
  EXPECT_EQ(documents.set, nullptr) << "rows are of the data set as it is";
  EXPECT_EQ(documents.outputs, std::nullopt);

  use_data(data::QuestionFile{});
  const auto texts = open_for("question-answering", text_file("p.json", "{}"));
  EXPECT_FALSE(texts.source->runs_predictor());
  EXPECT_TRUE(texts.source->is_rescoring_units());

  use_data(data::ObjectFile{});
  const auto detections = open_for("detection", text_file("r.json", "[]"));
  EXPECT_FALSE(detections.source->runs_predictor());
  EXPECT_FALSE(detections.source->is_rescoring_units()) << "an image is a sample";
}

TEST_F(OpenSavedPredictionsTest, FewerUnitsThanAreScoredAreRefused) {
  auto data = data::document_file();
  data.rows.push_back({3, {1}});
  data.ids.emplace_back("new");
  data.bytes.push_back(1);
  data.words.push_back(1);
  use_data(data);
  const auto path = save_documents("d.h5", "");
  EXPECT_THAT(refused(ErrorKind::dataset, "language-model", path),
              HasSubstr("it has 3 documents, 4 are to be scored. Score as many with --limit 3"));
  config_.scoring.limit = 3;
  EXPECT_NO_THROW(open_for("language-model", path));
}

TEST_F(OpenSavedPredictionsTest, ScoresAndUnitsOfAnotherDataSetAreNoted) {
  use_samples();
  const auto noted = ElementsAre(
      "these predictions were made of another data set, 'train.h5': rows are taken to be the same");
  open_for("multiclass", save_logits("other.h5", "ab12"));
  EXPECT_THAT(notes_.all(), noted);
  notes_ = {};
  const auto identity = open_data(world(), config_).file.digest;
  open_for("multiclass", save_logits("same.h5", identity));
  EXPECT_THAT(notes_.all(), IsEmpty());

  use_data(data::document_file());
  open_for("language-model", save_documents("others.h5", identity));
  EXPECT_THAT(notes_.all(), noted);
  notes_ = {};
  open_for("language-model", save_documents("own.h5", open_data(world(), config_).file.digest));
  EXPECT_THAT(notes_.all(), IsEmpty());
}

}  // namespace
}  // namespace tally::app
