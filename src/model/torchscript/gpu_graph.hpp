// What has to change in a frozen graph before it runs on a GPU. Traced graphs hold facts of the
// machine that traced them, usually a CPU.
#pragma once

#include <c10/core/Device.h>

namespace torch::jit {
struct Graph;
}

namespace tally::model {

// Makes constants that name another device name `device`, copies constant tensors that lie
// elsewhere to it, those in lists and tuples too, and takes out x.cpu(): else tensors of two
// devices meet in the first batch, or each batch is copied to the host and back. A network that
// moves its own results to the CPU cannot be told from one that was traced there: its results stay
// on `device`.
void move_to_device(torch::jit::Graph& graph, c10::Device device);

// Traced convolutions carry the settings of the Python that traced them: whether TF32 is allowed,
// whether cuDNN times its kernels, whether it must be deterministic. Puts in their place the
// operator that asks the settings of this process (precision.hpp). Other operators carry none.
void obey_settings(torch::jit::Graph& graph);

}  // namespace tally::model
