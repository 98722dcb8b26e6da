// SPDX-License-Identifier: Apache-2.0
// The library of CUDA graphs, where it is built: found by its name from a program's RUNPATH, loaded
// without a GPU; and its calls fail by returning.
#include <gtest/gtest.h>

#include "cuda_graph/cuda_graph_capture.hpp"
#include "load_torch_libraries.hpp"

namespace tally::model {
namespace {

TEST(GraphLibraryTest, LoadsBesideTheHalfOfLibTorchThatItNeeds) {
  load_cuda_half();
  const CudaGraphApi& api = load_cuda_graph_api();
  void* graph = nullptr;
  // There is no GPU, or the current stream is the default one, of which nothing can be recorded.
  EXPECT_NE(api.begin(&graph), nullptr);
  EXPECT_EQ(graph, nullptr);
}

}  // namespace
}  // namespace tally::model
