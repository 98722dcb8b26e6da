// SPDX-License-Identifier: Apache-2.0

#include <new>
#include <stdexcept>

#include <gmock/gmock.h>

#include <tally/base/current_work.hpp>
#include <tally/libtorch/torch_errors.hpp>

namespace tally::libtorch {
namespace {

TEST(TorchErrorsTest, TheFirstLineThatSaysSomething) {
  EXPECT_EQ(first_meaningful_line("\n\n  Unknown builtin op: torchvision::nms.\nCould not find …"),
            "Unknown builtin op: torchvision::nms");
  EXPECT_EQ(first_meaningful_line(""), "no reason was given");
  EXPECT_EQ(first_meaningful_line(" \n\t\n"), "no reason was given");
}

TEST(TorchErrorsTest, TheCauseUnderACallStack) {
  EXPECT_EQ(first_meaningful_line(
                "The following operation failed in the TorchScript interpreter.\n"
                "Traceback of TorchScript (most recent call last):\n  File \"x.py\", line 3\n"
                "    x = y: z\n        ~~~~ <--- HERE\nRuntimeError: shapes differ\n"),
            "RuntimeError: shapes differ");
}

TEST(TorchErrorsTest, LongLinesAreCut) {
  EXPECT_LT(first_meaningful_line(std::string(5000, 'x')).size(), 500u);
}

template <class Thrown>
Error translated(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return torch_error("model 'm' failed", "Look.");
  }
}

TEST(TorchErrorsTest, KindsAreKept) {
  EXPECT_STREQ(translated(std::runtime_error("why\nwhere")).what(),
               "model 'm' failed (why). Look.");
  EXPECT_EQ(translated(std::runtime_error("why")).kind(), ErrorKind::model);
  EXPECT_EQ(translated(std::bad_alloc()).kind(), ErrorKind::environment);
  EXPECT_EQ(translated(std::runtime_error("DefaultCPUAllocator: can't allocate memory")).kind(),
            ErrorKind::environment);
  for (const auto* text : {"CUDA out of memory. Tried to allocate 2 GiB.",
                           "CUDA error: an illegal memory access was encountered",
                           "Found no NVIDIA driver on your system."}) {
    EXPECT_EQ(translated(std::runtime_error(text)).kind(), ErrorKind::environment) << text;
  }
  EXPECT_STREQ(
      translated(
          std::runtime_error("[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't "
                             "allocate memory: you tried to allocate 4096 bytes. Error"))
          .what(),
      "model 'm' failed (out of memory: 4096 bytes). Use a smaller --batch-size or fewer ranks on "
      "this node.");
  EXPECT_THAT(
      translated(std::runtime_error("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"))
          .what(),
      testing::HasSubstr("(out of memory: 2.00 GiB)"));
  begin_phase("load_model");
  EXPECT_STREQ(translated(std::bad_alloc()).what(),
               "model 'm' failed (out of memory (load_model)). Use fewer ranks on this node, or a "
               "node with more memory.");
  begin_phase("");
  EXPECT_THAT(
      translated(std::runtime_error("index out of range in self")).what(),
      testing::HasSubstr("(index out of range in self). Rows may be longer than the model"));
  EXPECT_STREQ(translated(Error(ErrorKind::usage, "local")).what(), "local");
}

}  // namespace
}  // namespace tally::libtorch
