// SPDX-License-Identifier: Apache-2.0
// Looks at the first batch of a loop without waiting for a GPU: what it shows goes to the
// diagnosis.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/base/tensor_view.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>
#include <tally/diagnosis/first_batch.hpp>
#include <tally/model/predictor.hpp>

namespace tally::evaluate {

class FirstBatchProbe {
 public:
  // `most_scores` values of a batch are copied from a GPU; a batch with more is not looked at.
  FirstBatchProbe(diagnosis::FirstBatch& found, const device::Device& device,
                  std::int64_t most_scores);

  // The batch as it was read, which is on the host, and the input that the model is given first.
  void look_at_input(const data::Batch& batch, std::size_t source);
  // While they are valid. On a GPU a copy of them is enqueued.
  void look_at_outputs(const model::Outputs& outputs, std::int64_t num_samples,
                       const device::Stream& stream);
  // Once the stream has passed that batch.
  void finish();

 private:
  diagnosis::FirstBatch& found_;
  device::HostBuffer copy_;  // of the first output of a GPU
  TensorView scores_;        // on the host; of no rows where they are not looked at
  std::int64_t num_samples_ = 0;
};

}  // namespace tally::evaluate
