#include "name_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(NameFitTest, EqualNamesFit) {
  const Names names{"a.weight", "b.weight"};
  const auto fit = fit_names(names, names);
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.prefix, "");
}

TEST(NameFitTest, NothingFitsNothing) { EXPECT_TRUE(fit_names(Names{}, Names{}).fits()); }

TEST(NameFitTest, NestedPrefixesAreFound) {
  const Names model{"a", "b"};
  EXPECT_EQ(fit_names(model, Names{"module.a", "module.b"}).prefix, "module.");
  EXPECT_EQ(fit_names(model, Names{"model._orig_mod.a", "model._orig_mod.b"}).prefix,
            "model._orig_mod.");
  EXPECT_EQ(fit_names(model, Names{"module.module.module.a", "module.module.module.b"}).prefix,
            "module.module.module.");
}

TEST(NameFitTest, AModelWhoseOwnNamesHaveThePrefixKeepsIt) {
  const Names names{"module.a", "module.b"};
  const auto fit = fit_names(names, names);
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.prefix, "");
}

TEST(NameFitTest, MisfitsAreThoseOfTheBestPrefix) {
  const auto fit = fit_names(Names{"a", "b", "c"}, Names{"module.a", "module.b", "module.d"});
  EXPECT_EQ(fit.prefix, "module.");
  EXPECT_THAT(fit.missing, ElementsAre("c"));
  EXPECT_THAT(fit.unexpected, ElementsAre("module.d"));
}

TEST(NameFitTest, NumBatchesTrackedIsOptionalOnBothSides) {
  const Names with{"bn.weight", "bn.num_batches_tracked"};
  const Names without{"bn.weight"};
  EXPECT_TRUE(fit_names(with, without).fits());
  EXPECT_TRUE(fit_names(without, with).fits());
}

TEST(NameFitTest, TwoNamesNeverBecomeOne) {
  const auto fit = fit_names(Names{"a"}, Names{"a", "module.a"});
  EXPECT_THAT(fit.missing, IsEmpty());
  EXPECT_THAT(fit.unexpected, ElementsAre("module.a"));
}

}  // namespace
}  // namespace tally::model
