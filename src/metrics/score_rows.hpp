// The kernels of this room, behind plain functions. Twins: score_rows.cu and, in a build without
// CUDA, score_rows_absent.cpp, which nobody calls there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/metrics/row_facts.hpp>

#include "row_counters.hpp"

namespace tally::metrics {

// The first rows of a batch that cannot be scored, as marks: 0 for none, larger for earlier rows,
// so that zeroed memory and atomicMax() will do.
constexpr unsigned long long mark_of_row(unsigned long long row) { return ~row; }
constexpr unsigned long long row_of_mark(unsigned long long mark) { return ~mark; }
struct BadRows {
  unsigned long long non_finite = 0;
  unsigned long long wrong_kind = 0;
  unsigned long long label = 0;  // a label that is no class
};

// Where the facts of `max_rows` samples lie in one block of memory: one copy brings them all.
struct FactsBlock {
  BadRows* bad = nullptr;
  std::int64_t* label = nullptr;
  std::int64_t* prediction = nullptr;
  std::int32_t* label_rank = nullptr;
  float* loss = nullptr;
  float* confidence = nullptr;
  std::uint8_t* label_tied = nullptr;
};
FactsBlock facts_block(std::byte* memory, std::int64_t max_rows);
std::int64_t facts_block_bytes(std::int64_t max_rows);

// Everything one launch needs; pointers are to the device's memory.
struct RowsToScore {
  const float* scores = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t num_rows = 0;
  std::int64_t num_classes = 0;
  const std::int64_t* labels = nullptr;
  std::int64_t first_index = 0;
  bool has_ignore_index = false;
  std::int64_t ignore_index = 0;
  OutputKind kind = OutputKind::logits;
  RowCounters counters;
  std::int64_t* counts = nullptr;
  FactsBlock facts;
};

// Both enqueue on `stream`, a cudaStream_t.
void launch_score_rows(const RowsToScore& rows, void* stream);
// Brings the `count` limbs of a sum to canonical form.
void launch_carry(std::int64_t* limbs, std::int64_t count, void* stream);

}  // namespace tally::metrics
