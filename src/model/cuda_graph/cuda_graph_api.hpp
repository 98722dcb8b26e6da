// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of torch's work, in plain types: a library of its own holds the bodies, since they
// need LibTorch's CUDA half, which is not linked (docs/decisions/018).
#pragma once

namespace tally::model {

// Of the calling thread, its current device and torch's current stream there, which is not the
// default one. Calls return null, or why they failed: a text that is valid until the thread's next.
struct CudaGraphApi {
  // From now on the thread's work on that stream is recorded. What other threads do is theirs.
  const char* (*begin)(void** graph);
  // Ends the capture, also where a part of it failed; refuses one that works on the host's
  // memory. Whatever this returns, torch allocates and enqueues as before.
  const char* (*end)(void* graph);
  const char* (*replay)(void* graph);
  // Of what begin() made; after end().
  void (*destroy)(void* graph);
};

inline constexpr const char* kGraphLibrary = "libtally_cuda_graphs.so";
inline constexpr const char* kGraphCalls = "kTallyGraphCalls";  // a CudaGraphApi

}  // namespace tally::model
