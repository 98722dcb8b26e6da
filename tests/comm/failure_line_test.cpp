// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/agree.hpp>

#include <gtest/gtest.h>

namespace tally::comm {
namespace {

TEST(FailureLine, NamesCodeRankHostAndSentence) {
  const Error error(ErrorKind::dataset, "data set 'val.h5' has no rows", "Write it again.");
  EXPECT_EQ(failure_line(error, 2, 4, "node7"),
            "tally: error[3] rank 2 on node7: data set 'val.h5' has no rows. Write it again.");
  EXPECT_EQ(failure_line(error, 0, 1, "node7"),
            "tally: error[3]: data set 'val.h5' has no rows. Write it again.");
}

TEST(FailureLine, StaysOneLineWhateverTheTextHolds) {
  const Error error(ErrorKind::model, "first\n\n\tsecond \x1b[31mred\r\n");
  EXPECT_EQ(failure_line(error, 0, 1, "node7"), "tally: error[4]: first second [31mred");
  const Error from_file(ErrorKind::dataset, "a\u009bb\u202ec\xff");
  EXPECT_EQ(failure_line(from_file, 0, 1, ""),
            "tally: error[3]: a\\xc2\\x9bb\\xe2\\x80\\xaec\\xff");
}

TEST(FailureLine, KeepsTextInOtherAlphabets) {
  EXPECT_EQ(failure_line(Error(ErrorKind::usage, "„größe“"), 0, 1, ""), "tally: error[2]: „größe“");
}

}  // namespace
}  // namespace tally::comm
