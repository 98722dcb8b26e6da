// SPDX-License-Identifier: Apache-2.0
// A profiler that listens to NVTX sees the ranges; needs no GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <tally/device/nvtx_ranges.hpp>

namespace tally::device {
namespace {

TEST(Ranges, ReachAProfiler) {
  EXPECT_TRUE(are_ranges_seen());
  begin_range("outer");
  begin_range("inner");
  end_range();
  end_range();
  void* const listener = ::dlopen(TALLY_NVTX_LISTENER, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(listener, nullptr) << "NVTX has loaded it";
  const auto ranges_seen = reinterpret_cast<const char* (*)()>(::dlsym(listener, "ranges_seen"));
  ASSERT_NE(ranges_seen, nullptr);
  EXPECT_STREQ(ranges_seen(), "outer(inner())");
  ::dlclose(listener);
}

}  // namespace
}  // namespace tally::device
