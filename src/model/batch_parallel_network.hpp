// SPDX-License-Identifier: Apache-2.0
// A network on CPUs whose batches are cut into pieces, which its threads run one after the other:
// the tensors of a piece stay in a core's cache, and threads that run whole pieces do not wait for
// each other after every operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/thread_pool.h>

#include <tally/model/micro_batches.hpp>

#include "network.hpp"

namespace tally::model {

class BatchParallelNetwork final : public Network {
 public:
  // `network` keeps no state, and may run on several threads at once when it has warmed up.
  BatchParallelNetwork(std::unique_ptr<Network> network, int threads);

  const std::string& name() const override { return network_->name(); }
  // That of the network, and how many samples it runs at a time.
  std::string form() const override;
  std::vector<std::string> notes() const override;
  void use(const CpuExecutionSettings& way) override;
  std::vector<CpuKernels> other_kernels() const override { return network_->other_kernels(); }
  std::vector<std::int64_t> other_sizes() const override;

  // The bits of a score depend on the size of a piece, the same for all of a batch, and not on the
  // thread that runs it.
  Tensors run(Tensors inputs) override;
  // Cuts batches of this size from now on, where the scores of a sample do not depend on those
  // beside it; otherwise they stay whole, and notes() says so where it matters.
  Tensors warm_up(Tensors inputs) override;
  std::optional<Tensors> warm_up_small(Tensors inputs, std::int64_t batch_size) override;

 private:
  // What was warmed up last.
  struct Settled {
    std::int64_t batch_size;
    std::vector<std::vector<std::int64_t>> shapes;  // of a few samples
    bool operator==(const Settled&) const = default;
  };

  static Settled settings_of(const Tensors& few, std::int64_t batch_size);
  // Settles how batches of this size are cut, by a few of their samples, and warms up a piece.
  // Returns the scores of as many samples; none where batches stay whole.
  std::optional<Tensors> settle(const Tensors& few, std::int64_t batch_size);
  std::optional<Tensors> settle_pieces(const Tensors& few);
  // None where batches must stay whole.
  std::optional<TriedSamples> tried_samples_of(const Tensors& few);
  void warm_up_piece(const Tensors& few, std::int64_t wanted, std::int64_t least);
  void stay_whole(std::string why);
  // Threads that share the operations of a piece: one, or more where there are fewer pieces than
  // threads.
  int threads_of_piece() const {
    return std::max(1,
                    threads_ / static_cast<int>(std::min<std::int64_t>(pieces_.count, threads_)));
  }
  // None where pieces have scores of other widths than each other.
  std::optional<Tensors> run_pieces(const Tensors& inputs);

  std::unique_ptr<Network> network_;
  int threads_;
  std::int64_t at_a_time_ = 0;  // see CpuExecutionSettings
  std::optional<Settled> settled_;
  Pieces pieces_;                            // of a batch
  bool mixes_samples_ = false;               // scores depend on the other samples of a batch
  bool writes_over_inputs_ = false;          // the network
  std::string refusal_;                      // why batches are not cut
  std::unique_ptr<c10::ThreadPool> others_;  // beside the calling thread
};

}  // namespace tally::model
