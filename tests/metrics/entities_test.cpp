// SPDX-License-Identifier: Apache-2.0
// token_classification_reference_test.py compares these rules with seqeval's on random tags.
#include <tally/metrics/entities.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "expect_error.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

const std::vector<std::string> kNames{"O",     "B-PER", "I-PER", "E-PER", "S-PER",
                                      "B-LOC", "I-LOC", "B",     "I"};
constexpr std::int32_t kLoc = 0, kPer = 1, kNoType = 2;

std::vector<std::int32_t> classes(const std::string& words) {
  std::istringstream in(words);
  std::vector<std::int32_t> found;
  for (std::string word; in >> word;) {
    const auto name = std::ranges::find(kNames, word);
    found.push_back(name == kNames.end() ? -1 : static_cast<std::int32_t>(name - kNames.begin()));
  }
  return found;
}

std::vector<EntityRecord> found(const std::string& labels, const std::string& predictions) {
  std::vector<EntityRecord> entities;
  append_entities(EntityTags(kNames), classes(labels), classes(predictions), entities);
  return entities;
}

// Types of the entities that both name if they are the same words: all are then.
std::vector<std::int32_t> types_in(const std::string& words) {
  std::vector<std::int32_t> types;
  for (const EntityRecord& entity : found(words, words)) {
    EXPECT_TRUE(entity.is_labelled && entity.is_predicted);
    types.push_back(entity.type);
  }
  return types;
}

TEST(Entities, AreOfTheTypesThatNamesHave) {
  EXPECT_THAT(EntityTags(kNames).types(), ElementsAre("LOC", "PER", "_"));
  const std::vector<std::string> odd{"I-", "B-a-b", "S-O", "O"};
  EXPECT_THAT(EntityTags(odd).types(), ElementsAre("O", "_", "a-b"));
  EXPECT_EQ(EntityTags(odd).of(1).place, 'B');
  EXPECT_EQ(EntityTags(odd).of(1).type, 2);
  EXPECT_EQ(EntityTags(odd).of(3).place, 'O');
  EXPECT_EQ(EntityTags(odd).of(-1).place, 'O');
}

TEST(Entities, BeginAndEndByConllevalsRules) {
  EXPECT_THAT(types_in(""), IsEmpty());
  EXPECT_THAT(types_in("O O"), IsEmpty());
  EXPECT_THAT(types_in("B-PER I-PER O B-LOC"), ElementsAre(kPer, kLoc));
  EXPECT_THAT(types_in("I-PER I-PER"), ElementsAre(kPer)) << "no begin";
  EXPECT_THAT(types_in("I-PER I-LOC"), ElementsAre(kPer, kLoc)) << "another type";
  EXPECT_THAT(types_in("B-PER B-PER"), ElementsAre(kPer, kPer));
  EXPECT_THAT(types_in("B-PER E-PER I-PER"), ElementsAre(kPer, kPer)) << "nothing follows an end";
  EXPECT_THAT(types_in("S-PER E-PER E-PER"), ElementsAre(kPer, kPer, kPer));
  EXPECT_THAT(types_in("B I O I"), ElementsAre(kNoType, kNoType));
  EXPECT_THAT(types_in("B-PER none I-PER"), ElementsAre(kPer, kPer)) << "no class lies outside";
}

TEST(Entities, AreRightIfTypeAndPlacesAre) {
  constexpr EntityRecord kFound{kPer, true, true}, kMissed{kPer, true, false},
      kInvented{kPer, false, true};
  EXPECT_THAT(found("O B-PER I-PER", "O I-PER I-PER"), ElementsAre(kFound));
  EXPECT_THAT(found("B-PER I-PER O", "B-PER O O"), ElementsAre(kMissed, kInvented));
  EXPECT_THAT(found("O B-PER", "B-PER I-PER"), ElementsAre(kInvented, kMissed));
  EXPECT_THAT(found("B-PER O B-PER", "O S-PER B-PER"), ElementsAre(kMissed, kInvented, kFound));
  EXPECT_THAT(found("B-LOC", "B-PER"), ElementsAre(EntityRecord{kLoc, true, false}, kInvented));
}

TEST(Entities, AreAppended) {
  std::vector<EntityRecord> entities;
  const EntityTags tags(kNames);
  const std::vector<std::int32_t> inside{2}, none{-1};
  append_entities(tags, inside, none, entities);
  append_entities(tags, inside, inside, entities);
  ASSERT_EQ(entities.size(), 2U) << "no entity goes on from one sequence to the next";
  EXPECT_FALSE(entities[0].is_predicted);
  EXPECT_TRUE(entities[1].is_predicted);
}

TEST(Entities, NeedTags) {
  const auto lack = [](std::vector<std::string> names) { return lack_of_entities(names); };
  EXPECT_EQ(lack(kNames), std::nullopt);
  EXPECT_EQ(lack({"B-X", "I-X"}), std::nullopt);
  EXPECT_THAT(lack({}), Optional(HasSubstr("no class names")));
  EXPECT_THAT(lack({"O", "O"}), Optional(HasSubstr("outside")));
  for (const char* other : {"NOUN", "o", "BPER", "U-PER", "O-PER", "B_PER", ""}) {
    EXPECT_THAT(lack({"O", "B-PER", other}), Optional(HasSubstr("class 2 is named '"))) << other;
  }
  expect_error(ErrorKind::internal, {"class 0 is named 'NOUN'"},
               [] { EntityTags(std::vector<std::string>{"NOUN"}); });
}

}  // namespace
}  // namespace tally::metrics
