// SPDX-License-Identifier: Apache-2.0
#include "cuda_graph/cuda_graph_network.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <ATen/ops/empty_strided.h>
#include <c10/core/InferenceMode.h>

#include <tally/base/format.hpp>
#include <tally/libtorch/equivalence_check.hpp>
#include <tally/libtorch/torch_errors.hpp>

namespace tally::model {
namespace {

// Below this share of a pass the host is done long before the device, and launches cost nothing.
constexpr double kLeastShareOfHost = 0.5;
// Of the plain network's time: a smaller gain is within what measurements differ by.
constexpr double kLargestShareOfPlain = 0.95;
// As in the loop, where the host goes on while the device works.
constexpr int kPassesInARow = 4;
constexpr int kMeasurements = 3;

// A recording holds addresses and strides, so that only tensors laid out alike may take its inputs'
// places.
bool is_like(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() &&
         one.strides() == other.strides();
}

bool are_like(const Tensors& some, const Tensors& others) {
  return std::ranges::equal(some, others, is_like);
}

at::Tensor copy_of(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).copy_(tensor);
}

// Networks may write over their inputs.
Tensors copies_of(const Tensors& tensors) {
  Tensors copies;
  for (const auto& tensor : tensors) copies.push_back(copy_of(tensor));
  return copies;
}

// Waits for the device. NaN is the same as NaN of the same bits.
bool have_same_bytes(const at::Tensor& one, const at::Tensor& other) {
  if (!is_like(one, other)) return false;
  const auto here = one.contiguous().cpu();
  const auto there = other.contiguous().cpu();
  return here.nbytes() == 0 ||
         std::memcmp(here.const_data_ptr(), there.const_data_ptr(), here.nbytes()) == 0;
}

bool have_same_bytes(const Tensors& some, const Tensors& others) {
  const auto same = [](const at::Tensor& one, const at::Tensor& other) {
    return have_same_bytes(one, other);
  };
  return std::ranges::equal(some, others, same);
}

// Without memory.
Tensors likes_of(const Tensors& tensors) {
  Tensors likes;
  for (const auto& tensor : tensors) {
    likes.push_back(
        at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta)));
  }
  return likes;
}

// Empty, what the action says, or what it throws.
std::string reason_against(const std::function<std::string()>& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    return libtorch::first_meaningful_line(error.what());
  }
}

// Other work on the machine only ever adds time, so the least of several is the best measure.
double shortest(const std::function<double()>& measure) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMeasurements; ++i) least = std::min(least, measure());
  return least;
}

}  // namespace

CudaGraphNetwork::CudaGraphNetwork(std::unique_ptr<Network> plain,
                                   std::unique_ptr<GraphCapture> capture)
    : plain_(std::move(plain)), capture_(std::move(capture)) {}

const Tensors& CudaGraphNetwork::Recorded::replay(const Tensors& from) const {
  // Copies and replay follow each other on one stream, so that the host waits for nothing.
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].copy_(from[i], /*non_blocking=*/true);
  work->replay();
  return outputs;
}

Tensors CudaGraphNetwork::run(Tensors inputs) {
  if (!recorded_ || !are_like(inputs, recorded_->inputs)) return plain_->run(std::move(inputs));
  const c10::InferenceMode guard;
  return recorded_->replay(inputs);
}

Tensors CudaGraphNetwork::warm_up(Tensors inputs) {
  if (are_like(inputs, warm_inputs_)) return run(std::move(inputs));
  const c10::InferenceMode guard;
  warm_inputs_ = likes_of(inputs);
  capture_->wait();  // what is being replayed cannot go
  recorded_.reset();
  Tensors given;
  auto reason = reason_against([&] {
    given = copies_of(inputs);
    return std::string();
  });
  // The plain pass comes first: what libraries set up in it must not become part of a recording.
  auto outputs = plain_->warm_up(std::move(inputs));
  if (reason.empty()) reason = reason_against([&] { return settle(given); });
  if (!reason.empty()) recorded_.reset();
  reason_ = std::move(reason);
  return outputs;
}

void CudaGraphNetwork::use(const CpuExecutionSettings& way) {
  // The next warm-up tries anew, for the same shapes as well.
  plain_->use(way);
  warm_inputs_.clear();
}

std::vector<std::string> CudaGraphNetwork::notes() const {
  auto all = plain_->notes();
  if (!reason_.empty()) {
    all.push_back(format("model '{}' runs without CUDA graphs: {}", name(), reason_));
  }
  return all;
}

std::string CudaGraphNetwork::settle(const Tensors& given) {
  if (!is_bound_by_launching(given)) return {};
  const auto pattern = libtorch::harmless_probes(given);
  const auto expected = run_on_copies(pattern);
  // A network whose bits differ from run to run cannot show whether a replay is right.
  if (!have_same_bytes(run_on_copies(pattern), expected)) {
    return "its scores differ from run to run";
  }
  const auto expected_of_given = run_on_copies(given);
  record(given);
  // The recording is made of the given inputs. A replay of the pattern shows that inputs are read
  // anew.
  const bool is_same = have_same_bytes(recorded_->replay(pattern), expected) &&
                       have_same_bytes(recorded_->replay(given), expected_of_given);
  if (is_same && replayed_s(pattern) < kLargestShareOfPlain * plain_s(pattern)) return {};
  recorded_.reset();
  return is_same ? "" : "a replay gives other scores";
}

Tensors CudaGraphNetwork::run_on_copies(const Tensors& inputs) {
  return plain_->run(copies_of(inputs));
}

void CudaGraphNetwork::record(const Tensors& inputs) {
  Recorded recorded{copies_of(inputs), {}, nullptr};
  capture_->wait();
  recorded.work =
      capture_->record([&] { recorded.outputs = plain_->run(Tensors(recorded.inputs)); });
  recorded_ = std::move(recorded);
}

bool CudaGraphNetwork::is_bound_by_launching(const Tensors& inputs) {
  auto copies = copies_of(inputs);
  capture_->wait();
  const double begin_s = capture_->now_s();
  plain_->run(std::move(copies));
  const double host_s = capture_->now_s() - begin_s;
  capture_->wait();
  return host_s >= kLeastShareOfHost * (capture_->now_s() - begin_s);
}

double CudaGraphNetwork::plain_s(const Tensors& inputs) {
  return shortest([&] {
    std::vector<Tensors> copies;
    // The copies are made before the clock starts.
    for (int pass = 0; pass < kPassesInARow; ++pass) copies.push_back(copies_of(inputs));
    capture_->wait();
    const double begin_s = capture_->now_s();
    for (auto& pass_inputs : copies) plain_->run(std::move(pass_inputs));
    capture_->wait();
    return capture_->now_s() - begin_s;
  });
}

double CudaGraphNetwork::replayed_s(const Tensors& inputs) {
  return shortest([&] {
    capture_->wait();
    const double begin_s = capture_->now_s();
    for (int pass = 0; pass < kPassesInARow; ++pass) recorded_->replay(inputs);
    capture_->wait();
    return capture_->now_s() - begin_s;
  });
}

}  // namespace tally::model
