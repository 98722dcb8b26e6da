// SPDX-License-Identifier: Apache-2.0
#include "state_dict/state_dict_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(KeyMatchTest, EqualNamesFit) {
  const Names names{"a.weight", "b.weight"};
  const auto fit = match_keys(names, names);
  EXPECT_TRUE(fit.matches());
  EXPECT_EQ(fit.prefix, "");
}

TEST(KeyMatchTest, NothingFitsNothing) { EXPECT_TRUE(match_keys(Names{}, Names{}).matches()); }

TEST(KeyMatchTest, NestedPrefixesAreFound) {
  const Names model{"a", "b"};
  EXPECT_EQ(match_keys(model, Names{"module.a", "module.b"}).prefix, "module.");
  EXPECT_EQ(match_keys(model, Names{"model._orig_mod.a", "model._orig_mod.b"}).prefix,
            "model._orig_mod.");
  EXPECT_EQ(match_keys(model, Names{"module.module.module.a", "module.module.module.b"}).prefix,
            "module.module.module.");
}

TEST(KeyMatchTest, AModelWhoseOwnNamesHaveThePrefixKeepsIt) {
  const Names names{"module.a", "module.b"};
  const auto fit = match_keys(names, names);
  EXPECT_TRUE(fit.matches());
  EXPECT_EQ(fit.prefix, "");
}

TEST(KeyMatchTest, MisfitsAreThoseOfTheBestPrefix) {
  const auto fit = match_keys(Names{"a", "b", "c"}, Names{"module.a", "module.b", "module.d"});
  EXPECT_EQ(fit.prefix, "module.");
  EXPECT_THAT(fit.missing, ElementsAre("c"));
  EXPECT_THAT(fit.unexpected, ElementsAre("module.d"));
}

TEST(KeyMatchTest, NumBatchesTrackedIsOptionalOnBothSides) {
  const Names with{"bn.weight", "bn.num_batches_tracked"};
  const Names without{"bn.weight"};
  EXPECT_TRUE(match_keys(with, without).matches());
  EXPECT_TRUE(match_keys(without, with).matches());
}

TEST(KeyMatchTest, TwoNamesNeverBecomeOne) {
  const auto fit = match_keys(Names{"a"}, Names{"a", "module.a"});
  EXPECT_THAT(fit.missing, IsEmpty());
  EXPECT_THAT(fit.unexpected, ElementsAre("module.a"));
}

TEST(KeyMatchTest, UnderAPrefixTheOthersAreLeftOut) {
  const Names file{"net.a", "net.b", "head.a", "a"};
  const auto fit = match_keys_under("net.", Names{"a", "b"}, file);
  EXPECT_TRUE(fit.matches());
  EXPECT_EQ(fit.prefix, "net.");
  EXPECT_THAT(fit.left_out, ElementsAre("a", "head.a"));
  const auto misfit = match_keys_under("head.", Names{"a", "b"}, file);
  EXPECT_THAT(misfit.missing, ElementsAre("b"));
  EXPECT_THAT(misfit.unexpected, IsEmpty());
  EXPECT_THAT(match_keys_under("net.", Names{"a"}, file).unexpected, ElementsAre("net.b"));
}

TEST(KeyMatchTest, LikelyPrefixesHaveTheMostOfTheNames) {
  const Names model{"a.w", "b.w", "c.w", "w"};
  const Names file{"net.a.w", "net.b.w", "net.c.w", "x.net.a.w", "x.net.b.w", "y.a.w", "z"};
  EXPECT_THAT(likely_prefixes(model, file), ElementsAre("net.", "x.net."));
  EXPECT_THAT(likely_prefixes(model, model), IsEmpty());
}

}  // namespace
}  // namespace tally::model
