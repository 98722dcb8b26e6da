#include "split_network.hpp"

#include <future>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::model {
namespace {

// With fewer, convolutions take longer for a sample (ResNet-18 in bf16, against pieces of 16: 6 %
// with 8, 15 % with 4).
constexpr std::int64_t kSamplesOfPiece = 8;

// Kernels may choose another way for data that are not aligned, and round otherwise.
at::Tensor aligned(const at::Tensor& piece) {
  constexpr std::uintptr_t kAlignment = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(piece.const_data_ptr());
  return address % kAlignment == 0 ? piece : piece.clone();
}

std::vector<Tensors> split(const Tensors& inputs, int count) {
  std::vector<Tensors> pieces(static_cast<std::size_t>(count));
  for (const auto& input : inputs) {
    const auto rows = input.size(0) / count;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i].push_back(aligned(input.narrow(0, static_cast<std::int64_t>(i) * rows, rows)));
    }
  }
  return pieces;
}

// OpenMP's number holds for the thread that sets it. Setting it drops what oneDNN has prepared.
void use_threads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

// Waits for all in the end, however that comes: what they work on goes afterwards.
class Results {
 public:
  Results() = default;
  ~Results() {
    for (const auto& one : coming_) {
      if (one.valid()) one.wait();
    }
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  void expect(std::future<Tensors> one) { coming_.push_back(std::move(one)); }
  // Each output of all pieces, one behind the other.
  Tensors get() {
    std::vector<Tensors> outputs;
    for (auto& one : coming_) {
      const Tensors piece = one.get();
      outputs.resize(piece.size());  // a network returns as many for each
      for (std::size_t i = 0; i < piece.size(); ++i) outputs[i].push_back(piece[i]);
    }
    Tensors joined;
    for (const auto& pieces : outputs) joined.push_back(at::cat(pieces));
    return joined;
  }

 private:
  std::vector<std::future<Tensors>> coming_;
};

}  // namespace

int num_pieces(std::int64_t batch_size, int threads) {
  for (int pieces = threads; pieces > 1; --pieces) {
    const bool is_even = threads % pieces == 0 && batch_size % pieces == 0;
    if (is_even && batch_size / pieces >= kSamplesOfPiece) return pieces;
  }
  return 1;
}

SplitNetwork::SplitNetwork(std::unique_ptr<Network> network, int threads)
    : network_(std::move(network)), threads_(threads) {}

std::string SplitNetwork::form() const {
  auto form = network_->form();
  if (num_pieces_ == 1) return form;
  return format("{}{}batches in {} pieces", form, form.empty() ? "" : ", ", num_pieces_);
}

std::vector<std::string> SplitNetwork::notes() const {
  auto notes = network_->notes();
  if (!refusal_.empty()) {
    notes.push_back(
        format("model '{}': threads share operations instead of batches ({})", name(), refusal_));
  } else if (batch_size_ > 0 && num_pieces_ < threads_) {
    notes.push_back(format(
        "batches of {} sample{} have pieces for {} of {} threads; the others share operations, "
        "which is slower: a --batch-size that {} divides, from {} on, would do",
        batch_size_, batch_size_ == 1 ? "" : "s", num_pieces_, threads_, threads_,
        kSamplesOfPiece * threads_));
  }
  return notes;
}

Tensors SplitNetwork::run(Tensors inputs) {
  const auto batch_size = inputs.front().size(0);
  if (batch_size_ < 0) return rehearse(std::move(inputs));
  if (num_pieces_ == 1 || batch_size != batch_size_) {
    use_threads(threads_);
    return network_->run(std::move(inputs));
  }
  return run_pieces(&Network::run, split(inputs, num_pieces_));
}

Tensors SplitNetwork::rehearse(Tensors inputs) {
  const auto batch_size = inputs.front().size(0);
  expect(batch_size, num_pieces(batch_size, threads_));
  if (num_pieces_ == 1) return network_->rehearse(std::move(inputs));
  try {
    return rehearse_pieces(inputs);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model) throw;  // what befalls one rank must not change its bits
    expect(batch_size, 1);
    refusal_ = error.what();
  }
  return network_->rehearse(std::move(inputs));
}

// A network that takes a few samples takes pieces too.
std::optional<Tensors> SplitNetwork::rehearse_few(Tensors inputs, std::int64_t batch_size) {
  expect(batch_size, num_pieces(batch_size, threads_));
  return network_->rehearse_few(std::move(inputs), batch_size / num_pieces_);
}

void SplitNetwork::expect(std::int64_t batch_size, int pieces) {
  if (pieces > 1 && (!others_ || static_cast<int>(others_->size()) + 1 != pieces)) {
    others_ = std::make_unique<c10::ThreadPool>(pieces - 1);
  }
  batch_size_ = batch_size;
  num_pieces_ = pieces;
  refusal_.clear();
  use_threads(threads_ / pieces);
}

Tensors SplitNetwork::rehearse_pieces(const Tensors& inputs) {
  auto pieces = split(inputs, num_pieces_);
  const auto rows = pieces.front().front().size(0);
  for (const auto& output : network_->rehearse(pieces.front())) {
    if (output.dim() == 0 || output.size(0) != rows) {
      throw Error(ErrorKind::model, "its scores have other rows than its inputs");
    }
  }
  return run_pieces(&Network::rehearse, std::move(pieces));
}

Tensors SplitNetwork::run_pieces(Method method, std::vector<Tensors> pieces) {
  const int threads = threads_ / static_cast<int>(pieces.size());
  Results results;
  std::vector<std::shared_ptr<std::packaged_task<Tensors()>>> tasks;
  for (auto& piece : pieces) {
    tasks.push_back(std::make_shared<std::packaged_task<Tensors()>>(
        [this, method, threads, piece = std::move(piece)]() mutable {
          const c10::InferenceMode guard;
          use_threads(threads);
          return (*network_.*method)(std::move(piece));
        }));
    results.expect(tasks.back()->get_future());
  }
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    others_->run([task = tasks[i]] { (*task)(); });
  }
  (*tasks.front())();
  return results.get();
}

}  // namespace tally::model
