// SPDX-License-Identifier: Apache-2.0
// Failures that must happen: their kind and what their one sentence says.
#pragma once

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include <tally/base/error.hpp>

namespace tally {

// Calls `action`, which must throw Error of `kind` whose text has every one of `parts` and no line
// break.
template <class Action>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, Action&& action) {
  std::optional<Error> error;
  try {
    action();
  } catch (const Error& caught) {
    error = caught;
  }
  ASSERT_TRUE(error) << "nothing was thrown";
  const std::string text = error->what();
  EXPECT_EQ(error->kind(), kind) << text;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
  for (const std::string& part : parts) EXPECT_THAT(text, testing::HasSubstr(part));
}

}  // namespace tally
