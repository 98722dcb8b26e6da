// SPDX-License-Identifier: Apache-2.0
// What the names of oneDNN's instruction sets allow our own kernels.

#include <gtest/gtest.h>

#include <tally/libtorch/isa_cap.hpp>

namespace tally::libtorch {
namespace {

TEST(IsaCap, BelowAvx2ThereAreNoVectors) {
  EXPECT_EQ(vectors_under("SSE41"), VectorSet::none);
  EXPECT_EQ(vectors_under("AVX"), VectorSet::none);
}

TEST(IsaCap, ExtensionsOfAvx2AllowAvx2) {
  for (const char* cap : {"AVX2", "AVX2_VNNI", "AVX2_VNNI_2"}) {
    EXPECT_EQ(vectors_under(cap), VectorSet::avx2) << cap;
  }
}

TEST(IsaCap, AllElseAllowsAvx512) {
  for (const char* cap : {"AVX512_CORE", "AVX512_CORE_BF16", "AVX10_1_512", "ALL", "", "AVX3"}) {
    EXPECT_EQ(vectors_under(cap), VectorSet::avx512) << '\'' << cap << '\'';
  }
}

TEST(IsaCap, SmallLettersMeanTheSame) { EXPECT_EQ(vectors_under("avx2"), VectorSet::avx2); }

}  // namespace
}  // namespace tally::libtorch
