// SPDX-License-Identifier: Apache-2.0
// oneDNN reads its cap when it is first used, and not when LibTorch is loaded: so the program may
// set it.
#include <gtest/gtest.h>

#include <cstdlib>

#include <ATen/core/dispatch/Dispatcher.h>

#include "amx/amx_probe.hpp"

namespace tally::model {
namespace {

// oneDNN's own answer; by 16-bit vectors, so not below AVX-512 (or AVX2 with VNNI).
bool takes_bf16() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("mkldnn::_is_mkldnn_bf16_supported", "")
      .typed<bool()>()
      .call();
}

TEST(LateCap, IsObeyed) {
  // In children, because the first question settles it for the process, which has one thread here.
  if (!succeeds_in_child([] { return takes_bf16(); })) {
    GTEST_SKIP() << "oneDNN takes no bf16 on this processor, whatever its cap";
  }
  EXPECT_TRUE(succeeds_in_child([] {
    setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
    return !takes_bf16();
  }));
}

}  // namespace
}  // namespace tally::model
