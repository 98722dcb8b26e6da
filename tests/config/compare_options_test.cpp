// SPDX-License-Identifier: Apache-2.0
// The command line of `tally compare`.
#include <tally/config/compare_options.hpp>

#include "config_fixture.hpp"

namespace tally::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string problem_of(const Words& arguments) {
  return complaint_of([&] { parse_compare_options(arguments); });
}

TEST(CompareOptions, Defaults) {
  const CompareConfig config = parse_compare_options({"one", "two"});
  EXPECT_EQ(config.a, "one");
  EXPECT_EQ(config.b, "two");
  EXPECT_THAT(config.metrics, ElementsAre());
  EXPECT_EQ(config.bootstrap_replicas, 1000);
  EXPECT_EQ(config.seed, 0);
  EXPECT_EQ(config.changed, 10);
  EXPECT_EQ(config.json, "");
  EXPECT_FALSE(config.overwrite);
}

TEST(CompareOptions, StandBeforeBetweenAndBehindTheResults) {
  const CompareConfig config =
      parse_compare_options({"--seed", "3", "one", "--metrics=loss,mcc", "two", "--json", "-",
                             "--bootstrap-replicas", "20", "--changed=0"});
  EXPECT_EQ(config.a, "one");
  EXPECT_EQ(config.b, "two");
  EXPECT_THAT(config.metrics, ElementsAre("loss", "mcc"));
  EXPECT_EQ(config.bootstrap_replicas, 20);
  EXPECT_EQ(config.seed, 3);
  EXPECT_EQ(config.changed, 0);
  EXPECT_EQ(config.json, "-");
}

TEST(CompareOptions, Refusals) {
  EXPECT_EQ(problem_of({}), "tally compare needs two results, got 0. See 'tally compare --help'.");
  EXPECT_THAT(problem_of({"one"}), HasSubstr("got 1"));
  EXPECT_THAT(problem_of({"one", "two", "thr\x1b[ee"}),
              HasSubstr("unexpected word 'thr\\x1b[ee' (command line)"));
  EXPECT_EQ(problem_of({"one", "two", "--sed", "3"}),
            "unknown option '--sed' (command line). Did you mean '--seed'?");
  EXPECT_THAT(problem_of({"one", "two", "-seed"}), HasSubstr("unknown option '-seed'"));
  EXPECT_THAT(problem_of({"one", "two", "--seed"}),
              HasSubstr("--seed (command line) has no value"));
  EXPECT_THAT(problem_of({"one", "two", "--seed", "-1"}), HasSubstr("--seed = '-1'"));
  EXPECT_THAT(problem_of({"one", "two", "--seed=1", "--seed=2"}), HasSubstr("given twice"));
  EXPECT_THAT(problem_of({"one", "two", "--bootstrap-replicas", "1"}),
              HasSubstr("a whole number from 2 to 100000"));
  EXPECT_THAT(problem_of({"one", "two", "--metrics", "loss,loss"}), HasSubstr("each once"));
  EXPECT_THAT(problem_of({"one", "two", "--overwrite"}), HasSubstr("--json, which is not given"));
  EXPECT_THAT(problem_of({"one", "two", "--overwrite", "--json=-"}), HasSubstr("--overwrite is"));
  EXPECT_TRUE(parse_compare_options({"one", "two", "--overwrite", "--json=c.json"}).overwrite);
  EXPECT_THAT(problem_of({"one", "two", "--config", "file"}), HasSubstr("unknown option"));
}

TEST(CompareOptions, HelpNamesThemAll) {
  const std::string help = compare_options_help();
  for (const char* option :
       {"metrics", "bootstrap-replicas", "seed", "changed", "json", "overwrite"}) {
    EXPECT_THAT(help, HasSubstr(format("--{} ", option)));
  }
}

}  // namespace
}  // namespace tally::config
