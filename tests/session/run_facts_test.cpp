// SPDX-License-Identifier: Apache-2.0
// What a run is refused by that is to go on with another one's progress.
#include <tally/session/run_facts.hpp>

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace tally::app {
namespace {

using testing::HasSubstr;
using Inputs = std::vector<std::pair<std::string, std::string>>;

RunFacts facts_with(Inputs inputs) {
  RunFacts facts;
  facts.inputs = std::move(inputs);
  return facts;
}

std::string difference_of(Inputs then, Inputs now, ErrorKind kind) {
  const auto found = difference(facts_with(std::move(then)), facts_with(std::move(now)), "run");
  if (!found) return "nothing";
  EXPECT_EQ(found->kind(), kind);
  return found->what();
}

TEST(RunFacts, ASettingThatDiffersIsNamed) {
  const auto kind = ErrorKind::usage;
  EXPECT_THAT(difference_of({{"--limit", "5"}}, {{"--limit", "7"}}, kind),
              HasSubstr("'run' was made with --limit 5, and this run is with --limit 7. Give"));
  EXPECT_THAT(difference_of({{"--metrics", ""}}, {{"--metrics", "none"}}, kind),
              HasSubstr("was made without --metrics, and this run is with --metrics none"));
  EXPECT_THAT(difference_of({{"--metrics", "all"}}, {}, kind),
              HasSubstr("was made with --metrics all, and this run is without --metrics"));
}

TEST(RunFacts, AnInputThatDiffersIsNamed) {
  EXPECT_THAT(difference_of({{"model", "1"}}, {{"model", "2"}}, ErrorKind::model),
              HasSubstr("is of another model 1, and this run has 2"));
  EXPECT_THAT(difference_of({{"weights", "1"}}, {{"weights", ""}}, ErrorKind::model),
              HasSubstr("is of other weights 1, and this run has none"));
  EXPECT_THAT(difference_of({{"weights", ""}}, {{"weights", "2"}}, ErrorKind::model),
              HasSubstr("was made without weights, and this run has 2"));
  EXPECT_THAT(difference_of({{"predictions", "1"}}, {{"predictions", "2"}}, ErrorKind::dataset),
              HasSubstr("is of other predictions 1"));
}

TEST(RunFacts, WhatBecomesOfNotANumberMayChangeButTheResultIsAnother) {
  const Inputs fail{{"--on-nan", "fail"}}, wrong{{"--on-nan", "wrong"}};
  EXPECT_EQ(difference_of(fail, wrong, ErrorKind::usage), "nothing");
  EXPECT_NE(inputs_digest(facts_with(fail)), inputs_digest(facts_with(wrong)));
}

TEST(RunFacts, TextsKeepTheRevision) {
  auto facts = facts_with({{"model", "1"}});
  facts.revision = "abc";
  EXPECT_EQ(facts_from(to_text(facts)), facts);
  EXPECT_FALSE(facts_from("{}"));
}

}  // namespace
}  // namespace tally::app
