// SPDX-License-Identifier: Apache-2.0
#include "verdict.hpp"

#include <gmock/gmock.h>

#include <tally/base/error.hpp>

namespace tally::watchdog {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict verdict_on(Reason reason, double unchanged_s = 61, Activity activity = Activity::other) {
  Suspect suspect;
  suspect.rank = 2;
  suspect.reason = reason;
  suspect.unchanged_s = unchanged_s;
  suspect.limit_s = 40;
  suspect.activity = activity;
  Sign sign;
  sign.phase << "evaluate";
  sign.object << "data set 'val.h5'";
  return make_verdict(suspect, sign, "node7", 60);
}

TEST(Verdict, SaysWhatHasNotEnded) {
  using enum Activity;
  EXPECT_THAT(verdict_on(Reason::no_progress, 61, read).cause,
              testing::MatchesRegex("a read of a file has not returned for 61 s, since "
                                    "20..-..-..T..:..:..Z \\(limit 40 s\\)"));
  EXPECT_THAT(verdict_on(Reason::no_progress, 61, step).cause,
              HasSubstr("a step of the loop has not ended for 61 s"));
  EXPECT_THAT(verdict_on(Reason::no_progress, 0.25, other).cause,
              HasSubstr("there was no progress for 0.2 s"));
}

TEST(Verdict, SaysWhatIsKnownOfARankThatIsSilent) {
  EXPECT_THAT(verdict_on(Reason::no_sign).cause,
              HasSubstr("it has given no sign for 61 s, since "));
  EXPECT_THAT(verdict_on(Reason::gone).cause, HasSubstr("its process has ended"));
}

TEST(Verdict, SendsToTheNetworkWhereAllWait) {
  const auto all_wait = verdict_on(Reason::all_wait);
  EXPECT_THAT(all_wait.cause, HasSubstr("all ranks wait for one another in MPI, for 61 s"));
  EXPECT_THAT(all_wait.next_step, HasSubstr("Look at the network"));
  const auto other = verdict_on(Reason::no_progress);
  EXPECT_THAT(other.next_step, HasSubstr("Look at its node and file system"));
  EXPECT_THAT(other.next_step, HasSubstr("--resume"));
  EXPECT_THAT(other.next_step, HasSubstr("--stall-limit waits longer (now 60 s)"));
}

TEST(Verdict, IsOneLineThatNamesTheRank) {
  const auto line = verdict_on(Reason::gone).line(4);
  EXPECT_THAT(line, HasSubstr("error[8]"));
  EXPECT_THAT(line, HasSubstr("rank 2 on node7"));
  EXPECT_THAT(line, HasSubstr("evaluate, data set 'val.h5': its process has ended"));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
}

TEST(Verdict, NamesThePhaseAloneWhereNothingIsOpen) {
  Suspect suspect;
  suspect.reason = Reason::gone;
  const auto early = make_verdict(suspect, Sign(), "node7", 60);
  EXPECT_EQ(early.phase, "start");
  EXPECT_THAT(early.line(2), HasSubstr("start: its process has ended"));
}

TEST(Verdict, IsTheRecordForScripts) {
  const auto verdict = verdict_on(Reason::no_sign);
  const auto record = verdict.record();
  EXPECT_EQ(record.code, exit_code(ErrorKind::stalled));
  EXPECT_EQ(record.rank, 2);
  EXPECT_EQ(record.host, "node7");
  EXPECT_EQ(record.phase, "evaluate");
  EXPECT_EQ(record.object, "data set 'val.h5'");
  EXPECT_EQ(record.cause, verdict.cause);
  EXPECT_EQ(record.next_step, verdict.next_step);
}

}  // namespace
}  // namespace tally::watchdog
