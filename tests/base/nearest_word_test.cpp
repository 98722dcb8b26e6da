// SPDX-License-Identifier: Apache-2.0
// Which word is suggested to someone who mistyped one, and when none is.
#include <gtest/gtest.h>

#include <tally/base/nearest_word.hpp>

namespace tally {
namespace {

const std::vector<std::string> kWords{"accuracy", "f1_macro", "f1_micro", "loss", "batch-size"};

TEST(NearestWord, CountsLettersThatAreMissingTooManyOrWrong) {
  for (const char* word :
       {"acuracy", "accuracyy", "accurazy", "acucracy", "accruacy", "accuracy"}) {
    EXPECT_EQ(nearest_word(word, kWords), "accuracy") << word;
  }
  EXPECT_EQ(nearest_word("los", kWords), "loss");
}

TEST(NearestWord, IsNoneWhereMoreThanAQuarterDiffers) {
  const std::vector<std::string> one{"abcdefgh"};
  EXPECT_TRUE(nearest_word("xycdefgh", one));   // 2 of 8
  EXPECT_FALSE(nearest_word("xyzdefgh", one));  // 3 of 8
  EXPECT_TRUE(nearest_word("xbcd", {"abcd"}));
  EXPECT_TRUE(nearest_word("xbc", {"abc"}));
  EXPECT_FALSE(nearest_word("xb", {"ab"}));  // too short to be sure of
  EXPECT_FALSE(nearest_word("perplexity", kWords));
}

TEST(NearestWord, PassesOverCaseDashesAndUnderlines) {
  EXPECT_EQ(nearest_word("F1-Macro", kWords), "f1_macro");
  EXPECT_EQ(nearest_word("--BATCH_SIZE", kWords), "batch-size");
  EXPECT_EQ(nearest_word("AUROC", {"accuracy", "auroc"}), "auroc");
}

TEST(NearestWord, TakesABeginning) {
  EXPECT_EQ(nearest_word("f1", kWords), "f1_macro");
  EXPECT_EQ(nearest_word("batch", kWords), "batch-size");
  EXPECT_EQ(nearest_word("f1", {"f1_macro", "f1"}), "f1");
  EXPECT_FALSE(nearest_word("b", kWords));
}

TEST(NearestWord, TakesTheFirstOfEquallyNearOnes) {
  EXPECT_EQ(nearest_word("lost", {"loss", "list"}), "loss");
  EXPECT_EQ(nearest_word("lost", {"list", "loss"}), "list");
}

TEST(NearestWord, BearsWordsOfAnyKind) {
  EXPECT_FALSE(nearest_word("", kWords));
  EXPECT_FALSE(nearest_word("----", kWords));
  EXPECT_FALSE(nearest_word("\xff\xfe", kWords));
  EXPECT_FALSE(nearest_word("loss", {}));
  EXPECT_FALSE(nearest_word(std::string(100'000, 'a'), kWords));
}

TEST(DidYouMean, IsASentence) {
  EXPECT_EQ(did_you_mean("acuracy", kWords, "None."), "Did you mean 'accuracy'?");
  EXPECT_EQ(did_you_mean("--batchsize", kWords, "None.", "--"), "Did you mean '--batch-size'?");
  EXPECT_EQ(did_you_mean("perplexity", kWords, "None."), "None.");
}

}  // namespace
}  // namespace tally
