// SPDX-License-Identifier: Apache-2.0
#include "batch_parallel_network.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/equivalence_check.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {
namespace {

// Kernels may choose another way for data that are not aligned, and round otherwise.
at::Tensor aligned(const at::Tensor& piece) {
  constexpr std::uintptr_t kAlignment = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(piece.const_data_ptr());
  return address % kAlignment == 0 ? piece : piece.clone();
}

Tensors first_rows(const Tensors& inputs, std::int64_t rows) {
  Tensors first;
  for (const auto& input : inputs) first.push_back(input.narrow(0, 0, rows));
  return first;
}

// The last two of three rows, the very last one first, in the same layout.
Tensors last_two_reversed(const Tensors& inputs) {
  Tensors reversed;
  for (const auto& input : inputs) {
    auto two = at::empty_strided(input.narrow(0, 0, 2).sizes(), input.strides(), input.options());
    for (std::int64_t row = 0; row < 2; ++row) two.select(0, row).copy_(input.select(0, 2 - row));
    reversed.push_back(std::move(two));
  }
  return reversed;
}

// The same rows again and again until there are `rows`, in the same layout.
at::Tensor repeated(const at::Tensor& input, std::int64_t rows) {
  auto sizes = input.sizes().vec();
  sizes.front() = rows;
  auto full = at::empty_strided(sizes, input.strides(), input.options());
  for (std::int64_t row = 0; row < rows; row += input.size(0)) {
    const auto count = std::min(input.size(0), rows - row);
    full.narrow(0, row, count).copy_(input.narrow(0, 0, count));
  }
  return full;
}

at::Tensor piece_of(const at::Tensor& input, std::int64_t first, std::int64_t rows) {
  const auto there = std::min(rows, input.size(0) - first);
  const auto piece = input.narrow(0, first, there);
  return there == rows ? aligned(piece) : repeated(piece, rows);
}

// OpenMP's number holds for the thread that sets it. Setting it drops what oneDNN has prepared.
void use_threads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

bool has_rows(const at::Tensor& output, std::int64_t rows) {
  return output.dim() > 0 && output.size(0) == rows;
}

// Each output of all pieces, one behind the other, without what the last piece was filled up with.
// None where pieces have outputs of other widths: a network that crops texts to the longest one.
std::optional<Tensors> joined(const std::vector<Tensors>& pieces, std::int64_t rows) {
  Tensors outputs;
  for (std::size_t i = 0; i < pieces.front().size(); ++i) {
    std::vector<at::Tensor> parts;
    for (const auto& piece : pieces) parts.push_back(piece.at(i));
    const auto fits = [&](const at::Tensor& part) { return part.sizes() == parts.front().sizes(); };
    if (!std::ranges::all_of(parts, fits)) return std::nullopt;
    outputs.push_back(at::cat(parts).narrow(0, 0, rows));
  }
  return outputs;
}

Error cannot_be_cut(const char* why) { return {ErrorKind::model, why}; }

void check_rows(const Tensors& outputs, std::int64_t rows) {
  for (const auto& output : outputs) {
    if (!has_rows(output, rows)) throw cannot_be_cut("its scores have other rows than its inputs");
  }
}

// `scores`: of three samples; `reversed`: of the last two of them, the very last one first, so that
// neither what came before nor what the samples have in common is the same.
bool are_independent(const Tensors& scores, const Tensors& reversed) {
  try {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      for (std::int64_t row = 0; row < 2; ++row) {
        libtorch::check_close_enough(reversed.at(i).select(0, row), scores[i].select(0, 2 - row),
                                     libtorch::kOfBatchSizes);
      }
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Of threads that work on variables which were made before it.
struct Ends {
  Ends() = default;
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() { wait(); }
  void wait() const {
    for (const auto& end : futures) {
      if (end.valid()) end.wait();
    }
  }
  std::vector<std::future<void>> futures;
};

}  // namespace

BatchParallelNetwork::BatchParallelNetwork(std::unique_ptr<Network> network, int threads)
    : network_(std::move(network)), threads_(threads) {}

std::string BatchParallelNetwork::form() const {
  auto form = network_->form();
  if (pieces_.count <= 1) return form;
  return format("{}{}{} at a time", form, form.empty() ? "" : ", ", pieces_.size);
}

std::vector<std::string> BatchParallelNetwork::notes() const {
  auto notes = network_->notes();
  const auto enough = kLeastOfPiece * threads_;
  if (mixes_samples_) {
    notes.push_back(
        format("model '{}': the scores of a sample depend on the others of its batch, and so on "
               "--batch-size",
               name()));
  } else if (threads_ > 1 && !refusal_.empty()) {
    notes.push_back(
        format("model '{}': threads share operations instead of batches ({})", name(), refusal_));
  } else if (threads_ > 1 && settled_ && settled_->batch_size < enough) {
    notes.push_back(
        format("batches of {} leave {} threads fewer than {} samples each, which is slower: a "
               "--batch-size of {} or more would do",
               settled_->batch_size, threads_, kLeastOfPiece, enough));
  }
  return notes;
}

void BatchParallelNetwork::use(const CpuExecutionSettings& way) {
  at_a_time_ = way.at_a_time;
  network_->use(way);
  settled_.reset();
}

std::vector<std::int64_t> BatchParallelNetwork::other_sizes() const {
  std::vector<std::int64_t> sizes;
  if (!settled_ || !refusal_.empty()) return sizes;
  if (pieces_.size > 1) sizes.push_back(pieces_.size / 2);
  if (pieces_.count > threads_) sizes.push_back(pieces_.size * 2);
  return sizes;
}

Tensors BatchParallelNetwork::run(Tensors inputs) {
  if (!settled_) return warm_up(std::move(inputs));
  const bool is_warm = inputs.front().size(0) == settled_->batch_size;
  if (pieces_.count > 1 && is_warm) {
    if (auto scores = run_pieces(inputs)) return std::move(*scores);
  }
  use_threads(threads_);
  return network_->run(std::move(inputs));
}

Tensors BatchParallelNetwork::warm_up(Tensors inputs) {
  const auto batch_size = inputs.front().size(0);
  const auto few = first_rows(inputs, std::min(batch_size, kFewSamples));
  if (settled_ != settings_of(few, batch_size)) settle(few, batch_size);
  if (pieces_.count > 1) return run(std::move(inputs));
  return network_->warm_up(std::move(inputs));
}

std::optional<Tensors> BatchParallelNetwork::warm_up_small(Tensors inputs,
                                                           std::int64_t batch_size) {
  if (inputs.front().size(0) != kFewSamples) return std::nullopt;
  return settle(inputs, batch_size);
}

BatchParallelNetwork::Settled BatchParallelNetwork::settings_of(const Tensors& few,
                                                                std::int64_t batch_size) {
  Settled settled{batch_size, {}};
  for (const auto& input : few) settled.shapes.push_back(input.sizes().vec());
  return settled;
}

std::optional<Tensors> BatchParallelNetwork::settle(const Tensors& few, std::int64_t batch_size) {
  settled_ = settings_of(few, batch_size);
  mixes_samples_ = false;
  stay_whole("they have fewer than three samples");
  if (few.front().size(0) < kFewSamples) return std::nullopt;
  use_threads(1);  // a team of OpenMP's would stay, beside the threads that run pieces
  try {
    return settle_pieces(few);
  } catch (const std::exception& error) {
    const auto* const known = dynamic_cast<const Error*>(&error);
    if (known == nullptr || known->kind() != ErrorKind::model) {
      // What befalls one rank must not change its bits: the next batch tries again.
      settled_.reset();
      use_threads(threads_);
      throw;
    }
    stay_whole(error.what());
    return std::nullopt;
  }
}

std::optional<Tensors> BatchParallelNetwork::settle_pieces(const Tensors& few) {
  const auto trial = tried_samples_of(few);
  if (!trial) {
    stay_whole("it takes whole batches");
    return std::nullopt;
  }
  refusal_.clear();
  warm_up_piece(few, at_a_time_ > 0 ? at_a_time_ : trial->micro_batch_size, 1);
  const auto least = network_->least_rows();
  if (at_a_time_ == 0 && pieces_.size < least) warm_up_piece(few, least, least);
  return trial->scores;
}

// Of three samples that differ. None where a network takes whole batches only.
std::optional<TriedSamples> BatchParallelNetwork::tried_samples_of(const Tensors& few) {
  auto trial = network_->try_samples(libtorch::probe_inputs(few));
  if (!trial) return std::nullopt;
  check_rows(trial->scores, kFewSamples);
  const auto reversed = network_->try_samples(last_two_reversed(libtorch::probe_inputs(few)));
  check_rows(reversed->scores, kFewSamples - 1);
  writes_over_inputs_ = trial->writes_over_inputs;
  mixes_samples_ = !are_independent(trial->scores, reversed->scores);
  if (mixes_samples_) return std::nullopt;
  return trial;
}

void BatchParallelNetwork::warm_up_piece(const Tensors& few, std::int64_t wanted,
                                         std::int64_t least) {
  pieces_ = cut(settled_->batch_size, threads_, wanted, least);
  const auto busy = static_cast<int>(std::min<std::int64_t>(threads_, pieces_.count));
  if (busy > 1 && (!others_ || static_cast<int>(others_->size()) + 1 != busy)) {
    others_ = std::make_unique<c10::ThreadPool>(busy - 1);
  }
  use_threads(threads_of_piece());
  Tensors piece;
  for (const auto& input : few) piece.push_back(repeated(input, pieces_.size));
  check_rows(network_->warm_up(std::move(piece)), pieces_.size);
}

void BatchParallelNetwork::stay_whole(std::string why) {
  pieces_ = {settled_->batch_size, 1};
  refusal_ = std::move(why);
  use_threads(threads_);
}

// Returns or throws when all threads have ended: what they work on goes afterwards.
std::optional<Tensors> BatchParallelNetwork::run_pieces(const Tensors& inputs) {
  std::vector<Tensors> scores(static_cast<std::size_t>(pieces_.count));
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    const c10::InferenceMode guard;
    use_threads(threads_of_piece());
    for (std::int64_t i = next++; i < pieces_.count; i = next++) {
      Tensors piece;
      for (const auto& input : inputs) {
        const auto part = piece_of(input, i * pieces_.size, pieces_.size);
        piece.push_back(writes_over_inputs_ ? part.clone() : part);  // a whole batch may follow
      }
      auto& found = scores.at(static_cast<std::size_t>(i));
      found = network_->run(std::move(piece));
      check_rows(found, pieces_.size);
    }
  };
  Ends ends;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(threads_, pieces_.count); ++i) {
    const auto task = std::make_shared<std::packaged_task<void()>>(work);
    ends.futures.push_back(task->get_future());
    others_->run([task] { (*task)(); });
  }
  std::packaged_task<void()> own(work);
  ends.futures.push_back(own.get_future());
  own();
  ends.wait();
  for (auto& end : ends.futures) end.get();
  return joined(scores, inputs.front().size(0));
}

}  // namespace tally::model
