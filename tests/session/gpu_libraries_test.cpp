// SPDX-License-Identifier: Apache-2.0

#include <tally/session/gpu_versions.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::app {
namespace {

constexpr GpuVersions kGood{13000, 13000, 13000, 91900, 91900};

std::string problem_of(const GpuVersions& versions) {
  return version_problem(versions).value_or("");
}

TEST(GpuLibraries, OfOneVersionGoTogether) { EXPECT_EQ(problem_of(kGood), ""); }

TEST(GpuLibraries, MayBeNewerThanWhatWasCompiledWithThem) {
  auto versions = kGood;
  versions.cuda_runtime = 13020;
  versions.cudnn = 92000;
  EXPECT_EQ(problem_of(versions), "");
}

TEST(GpuLibraries, MayNotBeOlderNorOfAnotherMajorVersion) {
  auto versions = kGood;
  versions.cuda_header = 13010;
  EXPECT_EQ(problem_of(versions),
            "CUDA runtime 13000 is loaded, but tally was compiled with 13010");
  versions = kGood;
  versions.cuda_of_torch = 12080;
  EXPECT_THAT(problem_of(versions), testing::HasSubstr("LibTorch was compiled with 12080"));
  versions = kGood;
  versions.cudnn = 91800;
  EXPECT_THAT(problem_of(versions), testing::HasSubstr("cuDNN 91800 is loaded"));
  versions.cudnn = 101000;
  EXPECT_THAT(problem_of(versions), testing::HasSubstr("cuDNN 101000 is loaded"));
}

}  // namespace
}  // namespace tally::app
