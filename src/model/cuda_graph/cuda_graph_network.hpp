// SPDX-License-Identifier: Apache-2.0
// A network whose forward pass is recorded once and replayed for every batch, where that is the
// same and faster: one call then enqueues what took the host one call per kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda_graph/cuda_graph_capture.hpp"
#include "network.hpp"

namespace tally::model {

class CudaGraphNetwork final : public Network {
 public:
  CudaGraphNetwork(std::unique_ptr<Network> plain, std::unique_ptr<GraphCapture> capture);

  const std::string& name() const override { return plain_->name(); }
  std::string form() const override { return plain_->form(); }
  std::vector<std::string> notes() const override;
  bool is_replayed() const override { return recorded_.has_value(); }

  // Replays for inputs of the shapes, types and strides that were warmed up last, if they were
  // recorded; the result is written over by the next run. Others run plainly.
  Tensors run(Tensors inputs) override;

  // Runs plainly, and where nothing is known of such inputs finds out whether to replay: a
  // capture stays if the plain network gives the same bits twice, if it gives the bits of the
  // plain network, and if it takes less time. notes() says why there is none, unless it would not
  // pay. Each rank finds out for itself: bits do not depend on what it finds.
  Tensors warm_up(Tensors inputs) override;
  void use(const CpuExecutionSettings& way) override;

 private:
  // Declared in the order in which they are needed: the work goes before its memory.
  struct Recorded {
    Tensors inputs;
    Tensors outputs;
    std::unique_ptr<CapturedGraph> work;

    const Tensors& replay(const Tensors& from) const;
  };

  Tensors run_on_copies(const Tensors& inputs);
  bool is_bound_by_launching(const Tensors& inputs);
  double plain_s(const Tensors& inputs);
  double replayed_s(const Tensors& inputs);
  void record(const Tensors& inputs);
  // Leaves a capture or none. Why there is none, or nothing if it does not pay.
  std::string settle(const Tensors& given);

  std::unique_ptr<Network> plain_;
  std::unique_ptr<GraphCapture> capture_;
  Tensors warm_inputs_;  // like the inputs that were, without memory
  std::optional<Recorded> recorded_;
  std::string reason_;  // why there is no capture; empty where it would not pay
};

}  // namespace tally::model
