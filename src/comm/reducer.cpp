#include <tally/comm/reducer.hpp>

#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

class MpiReducer final : public Reducer {
 public:
  explicit MpiReducer(const Communicator& comm) : comm_(comm) {}

  void sum(std::span<std::int64_t> values) override { comm_.sum_in_place(values); }
  std::string_view name() const override { return "mpi"; }

 private:
  const Communicator& comm_;
};

}  // namespace

std::unique_ptr<Reducer> make_reducer(ReduceRequest request, DeviceKind device,
                                      const Communicator& comm) {
  const bool wants_nccl = request == ReduceRequest::nccl ||
                          (request == ReduceRequest::automatic && device == DeviceKind::cuda);
  if (wants_nccl) return make_nccl_reducer(comm);
  return std::make_unique<MpiReducer>(comm);
}

}  // namespace tally::comm
