// SPDX-License-Identifier: Apache-2.0
// The options of `tally watch`.
#include "config_fixture.hpp"

namespace tally::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Parsed watch(Words more) {
  Words words{"--checkpoints", "c", "--model", "m.pt", "--data", "d.h5"};
  words.insert(words.end(), more.begin(), more.end());
  return parse_run_options(words, {}, RunKind::checkpoints);
}

std::string refusal(const Words& words) {
  try {
    parse_run_options(words, {}, RunKind::checkpoints);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(WatchOptions, StoreWhatIsGiven) {
  const auto config = watch({"--poll=0.5", "--stop-after=3", "--time-limit=60", "--monitor=loss",
                             "--mode=min", "--patience=2", "--min-delta=0.01",
                             "--significant=false", "--keep-best=copy", "--batch-size=32"})
                          .config;
  EXPECT_EQ(config.watch.checkpoints, "c");
  EXPECT_EQ(config.watch.poll_s, 0.5);
  EXPECT_EQ(config.watch.stop_after, 3);
  EXPECT_EQ(config.watch.time_limit_s, 60);
  EXPECT_EQ(config.watch.monitor, "loss");
  EXPECT_EQ(config.watch.mode, "min");
  EXPECT_EQ(config.watch.patience, 2);
  EXPECT_EQ(config.watch.min_delta, 0.01);
  EXPECT_FALSE(config.watch.significant);
  EXPECT_EQ(config.watch.keep_best, "copy");
  EXPECT_EQ(config.execution.batch_size, 32);
}

TEST(WatchOptions, AreNotThoseOfOneRun) {
  for (const auto* option :
       {"--weights=w.pt", "--overwrite", "--resume", "--checkpoint-every=1", "--trace=t.json"}) {
    Words words{"--checkpoints=c", "--model=m.pt", "--data=d.h5", option};
    EXPECT_THAT(refusal(words), HasSubstr("unknown option")) << option;
  }
  EXPECT_THAT(refusal({"--model=m.pt", "--data=d.h5"}), HasSubstr("--checkpoints"));
  EXPECT_THAT(refusal({"--checkpoints=c", "--model=m.pt", "--data=d.h5", "--poll=0"}),
              HasSubstr("--poll"));
  EXPECT_THAT(run_options_help(RunKind::model), Not(HasSubstr("--patience")));
  EXPECT_THAT(run_options_help(RunKind::checkpoints), HasSubstr("tally-watch-<name of the"));
}

}  // namespace
}  // namespace tally::config
