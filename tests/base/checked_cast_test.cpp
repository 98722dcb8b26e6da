// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include <tally/base/checked_cast.hpp>

namespace tally {
namespace {

TEST(CheckedCast, KeepsWhatFits) {
  EXPECT_EQ(checked_cast<int>(std::int64_t{7}), 7);
  EXPECT_EQ(to_size(std::int64_t{7}), 7u);
}

TEST(CheckedCast, ThrowsInsteadOfWrapping) {
  EXPECT_THROW(checked_cast<int>(std::int64_t{1} << 31), Error);
  EXPECT_THROW(checked_cast<std::int64_t>(std::numeric_limits<std::uint64_t>::max()), Error);
  EXPECT_THROW(to_size(-1), Error);
}

}  // namespace
}  // namespace tally
