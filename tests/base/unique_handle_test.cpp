// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/base/unique_handle.hpp>

namespace tally {
namespace {

int closed = 0;

struct Counting {
  using Handle = int;
  static Handle invalid() noexcept { return -1; }
  static void close(Handle) noexcept { ++closed; }
};
using Owner = UniqueHandle<Counting>;

TEST(UniqueHandle, ClosesExactlyOnce) {
  closed = 0;
  {
    Owner first(1);
    Owner second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), 1);
    second = Owner(2);
    EXPECT_EQ(closed, 1);
  }
  EXPECT_EQ(closed, 2);
}

TEST(UniqueHandle, ReleaseGivesUpOwnership) {
  closed = 0;
  {
    Owner owner(3);
    EXPECT_EQ(owner.release(), 3);
  }
  EXPECT_EQ(closed, 0);
}

}  // namespace
}  // namespace tally
