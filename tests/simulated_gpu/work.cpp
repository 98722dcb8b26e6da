// SPDX-License-Identifier: Apache-2.0
#include "gpu_state.hpp"
#include "simulated_gpu.hpp"

namespace simulated_gpu {

void enqueue_work(cudaStream_t stream, const std::string& name, const std::vector<Bytes>& reads,
                  const std::vector<Bytes>& writes, const std::function<void()>& work) {
  const Call call("enqueue_work");
  gpu().streams.enqueue(call.number_of(stream), name, [=](const Operation& operation) {
    gpu().memory.open();
    gpu().accesses.begin(operation);
    for (const auto& read : reads) {
      gpu().accesses.touch(read.begin, read.num_bytes, Access::read, {});
    }
    for (const auto& write : writes) {
      gpu().accesses.touch(write.begin, write.num_bytes, Access::write, {});
    }
    work();
    gpu().memory.close();
  });
}

}  // namespace simulated_gpu
