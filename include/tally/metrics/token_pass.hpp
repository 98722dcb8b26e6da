// SPDX-License-Identifier: Apache-2.0
// Goes once over the scores of sequences, at each place of which a token is to be predicted. Places
// that are not scored are passed over. A GPU and the CPU give the same bits for the same scores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/base/thread_team.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

struct TokenRules {
  OutputKind kind = OutputKind::logits;
  std::int64_t ignore_index = -100;  // the label of places that are not scored
};

struct TokenStatistics {
  std::int64_t num_places = 0;    // of each sequence's scores
  std::vector<TokenRecord> rows;  // [sequences, places]
  // The first sequence whose scores are not of the given kind, as in RowStatistics. The rows are
  // void then.
  std::optional<std::int64_t> wrong_kind_sequence;

  std::span<const TokenRecord> sequence(std::int64_t i) const;
};

// scores: [>= num_sequences, places, vocabulary] float32 or bfloat16, which counts as the float32
// of the same value, on the CPU, unit stride along the vocabulary. labels: [>= num_sequences,
// places] int32 or int64: tokens that the vocabulary has (the reader has checked them), or the
// ignored index. Error(internal) for others. The threads of `team` share the places, which changes
// no bit.
void compute_token_statistics(const TensorView& scores, const TensorView& labels,
                              std::int64_t num_sequences, const TokenRules& rules, ThreadTeam& team,
                              TokenStatistics& stats);

// Statistics of one batch on their way from the device to the host. Readable once the stream has
// passed the batch.
class BatchTokens {
 public:
  explicit BatchTokens(const device::Device& device) : device_(device) {}

  // As compute_token_statistics() gives them.
  const TokenStatistics& stats();

 private:
  friend class TokenPass;

  device::Device device_;
  device::DeviceBuffer on_device_;  // as large as any batch needed it; empty on the CPU
  device::HostBuffer on_host_;
  TokenStatistics stats_;
};

class TokenPass {
 public:
  // `threads` share the work on a CPU.
  explicit TokenPass(const TokenRules& rules, int threads = 1);

  // Enqueues the pass, and the statistics' way to the host. Scores and labels as above, on the
  // stream's device. The batch that `stats` had before has landed.
  void enqueue(std::int64_t num_sequences, const TensorView& scores, const TensorView& labels,
               const device::Stream& stream, BatchTokens& stats) const;

 private:
  TokenRules rules_;
  std::unique_ptr<ThreadTeam> team_;
};

}  // namespace tally::metrics
