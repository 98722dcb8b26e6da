// SPDX-License-Identifier: Apache-2.0
// Saved documents of a language model: their sums, and rows that are not the data set's.
#include <limits>
#include <numbers>

#include "expect_error.hpp"
#include "saved_file.hpp"
#include "score_fixture.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

// Rows of the three documents of document_file(): of 8 tokens in 31 bytes, of 2 in 4, of none.
struct Documents {
  std::vector<std::int64_t> index{0, 1, 2}, tokens{8, 2, 0}, correct{2, 1, 0}, top5{8, 2, 0};
  std::vector<std::int64_t> bytes{31, 4, 0};
  std::vector<double> nll{4.5, 2.5, 0};
  std::vector<std::string> ids{"a.txt", "Ω", ""};
};

class DocumentScoresTest : public ScoreTest {
 protected:
  DocumentScoresTest() { use_data(data::document_file()); }

  std::string save(const Documents& rows, const std::string& name = "p.h5") {
    return file(name, [&](const std::filesystem::path& path) {
      SavedFile saved(path, "language-model");
      saved.each("index", rows.index).each("tokens", rows.tokens).each("correct", rows.correct);
      saved.each("correct_top5", rows.top5).each("bytes", rows.bytes).each("nll", rows.nll);
      saved.texts("id", rows.ids).close();
    });
  }
};

// The loss is 7 of 10 tokens, and of 35 bytes.
TEST_F(DocumentScoresTest, SumsAreScoredAsThoseOfAModel) {
  const auto path = save({});
  std::string first_digest;
  for (const std::int64_t batch_size : {1, 256}) {
    const auto scored = score(path, batch_size);
    EXPECT_EQ(scored.results().units.count, 3);
    EXPECT_EQ(scored.results().counts.ignored, 1) << "there is nothing to score in the last one";
    EXPECT_DOUBLE_EQ(value_of(scored, "loss").value(), 0.7);
    EXPECT_DOUBLE_EQ(value_of(scored, "accuracy").value(), 0.3);
    EXPECT_DOUBLE_EQ(value_of(scored, "bits_per_byte").value(), 0.2 / std::numbers::ln2);
    EXPECT_EQ(all_ranks(integers_in(scored.local.log, "tokens")),
              world().is_root() ? "8,2,0," : "");
    EXPECT_EQ(all_ranks(texts_in(scored.local.log, "id")), world().is_root() ? "a.txt,Ω,," : "");
    if (first_digest.empty()) first_digest = scored.global.state_digest;
    EXPECT_EQ(scored.global.state_digest, first_digest);
  }
}

TEST_F(DocumentScoresTest, ALimitIsOfDocuments) {
  config_.scoring.limit = 1;
  const auto scored = score(save({}));
  EXPECT_EQ(scored.results().units.count, 1);
  EXPECT_DOUBLE_EQ(value_of(scored, "loss").value(), 4.5 / 8);
}

// Only its tokens count, for nobody knows how many bytes they are.
TEST_F(DocumentScoresTest, TheLastDocumentMayBeAPart) {
  config_.scoring.limit = 2;
  Documents rows{.index = {0, 1},
                 .tokens = {8, 1},
                 .correct = {2, 0},
                 .top5 = {8, 1},
                 .bytes = {31, -1},
                 .nll = {4.5, 1},
                 .ids = {"a.txt", "Ω"}};
  const auto scored = score(save(rows));
  EXPECT_DOUBLE_EQ(value_of(scored, "loss").value(), 5.5 / 9);
  EXPECT_DOUBLE_EQ(value_of(scored, "bits_per_byte").value(), 4.5 / 31 / std::numbers::ln2);
  EXPECT_EQ(all_ranks(integers_in(scored.local.log, "bytes")), world().is_root() ? "31,-1," : "");
}

TEST_F(DocumentScoresTest, ALossThatIsNotFiniteSpoilsItsDocumentAlone) {
  Documents rows;
  rows.nll[0] = std::numeric_limits<double>::quiet_NaN();
  const auto path = save(rows);
  EXPECT_THAT(refusal_of(ErrorKind::numeric, [&] { score(path); }),
              testing::HasSubstr("NaN or Inf"));
  config_.scoring.on_nan = "wrong";
  const auto scored = score(path);
  EXPECT_EQ(scored.results().counts.without_scores, 1);
  EXPECT_EQ(value_of(scored, "loss"), 1.25);
  if (!world().is_root()) return;
  EXPECT_THAT(scored.global.not_finite.first_indices, ElementsAre(0));
}

TEST_F(DocumentScoresTest, AFileThatChangesMeanwhileIsRefused) {
  const auto path = save({});
  const auto session = open(path);
  EXPECT_NO_THROW(session.source->require_unchanged());
  world().barrier();
  if (world().is_root()) std::ofstream(path, std::ios::app) << "x";
  world().barrier();
  expect_error(ErrorKind::dataset, {"p.h5' changed while it was read"},
               [&] { session.source->require_unchanged(); });
}

struct Wrong {
  const char* name;
  void (*change)(Documents& rows);
  std::string says;
};

class WrongDocumentsTest : public DocumentScoresTest, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongDocumentsTest, AreRefusedWhereTheyAreScored) {
  Documents rows;
  GetParam().change(rows);
  const auto path = save(rows);
  const auto said = loop_refusal(open(path));
  EXPECT_THAT(said, testing::StartsWith("predictions file '" + path + "': row " + GetParam().says));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("\n"))) << "by the rank of the row alone";
}

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongDocumentsTest,
    testing::Values(
        Wrong{"MoreRightThanTokens", [](Documents& d) { d.correct[1] = d.top5[1] = 3; },
              "1 has 2 tokens, 3 correct, 3 within the first five, nll 2.5. The file is damaged"},
        Wrong{"MoreRightThanInTop5", [](Documents& d) { d.top5[0] = 1; },
              "0 has 8 tokens, 2 correct, 1 within the first five"},
        Wrong{"RightBelowZero", [](Documents& d) { d.correct[1] = -1; },
              "1 has 2 tokens, -1 correct"},
        Wrong{"TooManyTokens", [](Documents& d) { d.tokens[1] = kHuge; },
              "1 has 4611686018427387904 tokens"},
        Wrong{"LossOfNoToken", [](Documents& d) { d.nll[2] = 0.5; },
              "2 has 0 tokens, 0 correct, 0 within the first five, nll 0.5"},
        Wrong{"NanOfNoToken",
              [](Documents& d) { d.nll[2] = std::numeric_limits<double>::quiet_NaN(); },
              "2 has 0 tokens, 0 correct, 0 within the first five, nll nan"},
        Wrong{"OtherBytes", [](Documents& d) { d.bytes[1] = 5; },
              "1 is of 5 bytes, document 1 has 4. Name the data set that was predicted."},
        Wrong{"APartBeforeTheLast", [](Documents& d) { d.bytes[1] = -1; },
              "1 is of a part, and not the last one. The file is damaged: evaluate again."},
        Wrong{"AnotherId", [](Documents& d) { d.ids[0] = "b.txt"; },
              "0 is not of 'a.txt', which data set '"},
        Wrong{"AShorterId", [](Documents& d) { d.ids[0] = "a.tx"; }, "0 is not of 'a.txt'"},
        Wrong{"AnIdInThePlaceOfNone", [](Documents& d) { d.ids[2] = "x"; }, "2 is not of ''"}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(DocumentScoresTest, ARowOfAnotherDocumentIsRefused) {
  Documents rows;
  rows.index = {0, 2, 2};
  const auto path = save(rows);
  EXPECT_EQ(loop_refusal(open(path)), "predictions file '" + path +
                                          "': /index[1] = 2, expected 1. The file is damaged: "
                                          "evaluate again.");
}

TEST_F(DocumentScoresTest, AColumnThatIsMissingIsNamed) {
  const auto path = file("p.h5", [](const std::filesystem::path& there) {
    SavedFile(there, "language-model")
        .each<std::int64_t>("index", {0, 1, 2})
        .texts("id", {"a.txt", "Ω", ""})
        .close();
  });
  EXPECT_EQ(
      loop_refusal(open(path, 3)),
      "predictions file '" + path + "' has no column 'tokens'. Evaluate again with --save labels.");
}

}  // namespace
}  // namespace tally::app
