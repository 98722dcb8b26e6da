// A network on several threads of the CPU, each of which takes a piece of the batch, where that is
// possible: threads that share every single operation wait for each other after each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/thread_pool.h>

#include <tally/model/batch_pieces.hpp>

#include "network.hpp"

namespace tally::model {

class SplitNetwork final : public Network {
 public:
  // `network` keeps no state, and may run on several threads at once when it has rehearsed.
  SplitNetwork(std::unique_ptr<Network> network, int threads);

  const std::string& name() const override { return network_->name(); }
  // That of the network, and into how many pieces batches like the last rehearsed one are split.
  std::string form() const override;
  std::vector<std::string> notes() const override;
  void run_plainly() override { network_->run_plainly(); }

  // The bits of a score depend on the size of a piece, the same for all of a batch, and not on the
  // thread that runs it.
  Tensors run(Tensors inputs) override;
  // Splits batches of this size from now on, if the network takes pieces of them; one that does not
  // gets them whole, and notes() says why.
  Tensors rehearse(Tensors inputs) override;
  std::optional<Tensors> rehearse_few(Tensors inputs, std::int64_t batch_size) override;

 private:
  using Method = Tensors (Network::*)(Tensors);

  // From now on batches of this size are split so, or left whole.
  void expect(std::int64_t batch_size, int pieces);
  Tensors rehearse_pieces(const Tensors& inputs);
  // On as many threads as there are pieces; returns or throws when all have ended.
  Tensors run_pieces(Method method, std::vector<Tensors> pieces);

  std::unique_ptr<Network> network_;
  int threads_;
  std::int64_t batch_size_ = -1;             // that was rehearsed last
  int num_pieces_ = 1;                       // of it
  std::string refusal_;                      // why it is not split
  std::unique_ptr<c10::ThreadPool> others_;  // beside the calling thread
};

}  // namespace tally::model
