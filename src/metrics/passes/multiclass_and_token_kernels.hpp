// SPDX-License-Identifier: Apache-2.0
// The kernels of this room, behind plain functions. Twins: multiclass_and_token_kernels.cu and, in
// a build without CUDA, multiclass_and_token_kernels_no_cuda.cpp, which nobody calls there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/metrics/multiclass_statistics.hpp>
#include <tally/metrics/token_pass.hpp>

#include "family_counters.hpp"

namespace tally::metrics {

// The first rows of a batch that cannot be counted, as marks: 0 for none, larger for earlier rows,
// so that zeroed memory and atomicMax() will do.
constexpr unsigned long long mark_of_row(unsigned long long row) { return ~row; }
constexpr unsigned long long row_of_mark(unsigned long long mark) { return ~mark; }
struct BadRows {
  unsigned long long wrong_kind = 0;
  unsigned long long label = 0;  // a label that is no class
};

// What a kernel finds of a batch, in one block of memory: one copy brings it all.
struct FoundBlock {
  BadRows bad;
  MulticlassRecord rows[1];  // as many as the batch has

  static std::int64_t num_bytes(std::int64_t num_rows) {
    return static_cast<std::int64_t>(offsetof(FoundBlock, rows)) +
           num_rows * static_cast<std::int64_t>(sizeof(MulticlassRecord));
  }
};

// Everything one launch needs; pointers are to the device's memory.
struct RowsToScore {
  const float* scores = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t num_rows = 0;
  std::int64_t num_classes = 0;
  const std::int64_t* labels = nullptr;
  std::int64_t first_index = 0;
  ScoreRules rules;
  RowCounters counters;
  std::int64_t* counts = nullptr;
  FoundBlock* found = nullptr;
};

// The same of sequences, whose first bad ones are marked.
struct TokenBlock {
  BadRows bad;
  TokenRecord rows[1];  // [sequences, places]

  static std::int64_t num_bytes(std::int64_t num_rows) {
    return static_cast<std::int64_t>(offsetof(TokenBlock, rows)) +
           num_rows * static_cast<std::int64_t>(sizeof(TokenRecord));
  }
};

struct TokensToScore {
  const void* scores = nullptr;
  bool has_bfloat16 = false;  // scores, else float32
  std::int64_t sequence_stride = 0, place_stride = 0;
  std::int64_t num_sequences = 0;
  std::int64_t num_places = 0;
  std::int64_t num_tokens = 0;  // of the vocabulary
  const void* labels = nullptr;
  bool has_wide_labels = true;  // int64, else int32
  TokenRules rules;
  TokenBlock* found = nullptr;
};

// All enqueue on `stream`, a cudaStream_t.
void launch_score_rows(const RowsToScore& rows, void* stream);
void launch_score_tokens(const TokensToScore& tokens, void* stream);
// Brings sums of a State to canonical form, a thread for each. `sums` is in the device's memory.
struct SumPlace {
  std::int64_t offset = 0;  // of its first limb in the State
  std::int64_t length = 0;  // limbs
};
void launch_carry(std::int64_t* state, const SumPlace* sums, std::int64_t num_sums, void* stream);

}  // namespace tally::metrics
