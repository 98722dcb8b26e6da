// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include <tally/base/log.hpp>

namespace tally {
namespace {

// Names of files, attributes and variables come into notes from many places.
TEST(Log, WhatANoteHoldsDoesNotSteerTheTerminal) {
  log::set_verbosity(log::Verbosity::speaks);
  testing::internal::CaptureStderr();
  log::note("a 'größe\x1b]0;title\x07' {}");
  log::warning("two\nlines, \u202eback\u009b");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tally: note: a 'größe\\x1b]0;title\\x07' {}\n"
            "tally: warning: two\\x0alines, \\xe2\\x80\\xaeback\\xc2\\x9b\n");
}

}  // namespace
}  // namespace tally
