// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <tally/base/error.hpp>

namespace tally {
namespace {

template <class Thrown>
Error caught(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return current_error();
  }
}

TEST(Error, IsOneSentenceAndANextStep) {
  const Error error(ErrorKind::dataset, "no labels", "Add them.");
  EXPECT_STREQ(error.what(), "no labels. Add them.");
  EXPECT_EQ(exit_code(error.kind()), 3);
  EXPECT_STREQ(Error(ErrorKind::usage, "no").what(), "no");
}

TEST(CurrentError, KeepsKindsAndNamesOthers) {
  EXPECT_EQ(caught(Error(ErrorKind::model, "m")).kind(), ErrorKind::model);
  const Error memory = caught(std::bad_alloc());
  EXPECT_EQ(memory.kind(), ErrorKind::environment);
  EXPECT_EQ(std::string(memory.what()).find("--batch-size"), std::string::npos)
      << "inspect and files of settings know no batches";
  const Error other = caught(std::runtime_error("odd"));
  EXPECT_EQ(other.kind(), ErrorKind::internal);
  EXPECT_STREQ(other.what(), "odd");
  EXPECT_EQ(caught(42).kind(), ErrorKind::internal);
}

TEST(CurrentError, TooFewThreadsOrTooLittleMemoryIsNoDefect) {
  const Error threads = caught(
      std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "thread"));
  EXPECT_EQ(threads.kind(), ErrorKind::environment);
  EXPECT_NE(threads.problem().find("no thread or process can be started"), std::string::npos);
  EXPECT_NE(threads.next_step().find("ulimit -u"), std::string::npos);
  EXPECT_EQ(caught(std::system_error(std::make_error_code(std::errc::not_enough_memory))).kind(),
            ErrorKind::environment);
  EXPECT_EQ(caught(std::system_error(std::make_error_code(std::errc::broken_pipe))).kind(),
            ErrorKind::internal);
}

}  // namespace
}  // namespace tally
