// SPDX-License-Identifier: Apache-2.0
#include "compiled_network.hpp"

#include <mutex>
#include <utility>

#include "plain_errors.hpp"

namespace tally::openvino {
namespace {

// Requests are costly to make: each is used again.
class Requests {
 public:
  explicit Requests(ov::CompiledModel model) : model_(std::move(model)) {}
  ov::InferRequest take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return model_.create_infer_request();
    auto request = std::move(free_.back());
    free_.pop_back();
    return request;
  }
  void give_back(ov::InferRequest request) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(request));
  }
  const ov::CompiledModel& model() const { return model_; }

 private:
  ov::CompiledModel model_;
  std::mutex mutex_;
  std::vector<ov::InferRequest> free_;
};

class ResultOfRequest final : public RunResult {
 public:
  ResultOfRequest(std::shared_ptr<Requests> requests, std::span<const TensorView> inputs,
                  const std::vector<Port>& outputs)
      : requests_(std::move(requests)), request_(requests_->take()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& input = inputs[i];
      const ov::Shape shape(input.shape.begin(), input.shape.end());
      const auto& type = requests_->model().input(i).get_element_type();
      request_.set_input_tensor(i, {type, shape, input.data});
    }
    request_.infer();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto tensor = request_.get_output_tensor(i);
      const auto& shape = tensor.get_shape();
      views_.push_back(
          contiguous_view(tensor.data(), outputs[i].dtype, Shape(shape.begin(), shape.end())));
    }
  }
  ResultOfRequest(const ResultOfRequest&) = delete;
  ResultOfRequest& operator=(const ResultOfRequest&) = delete;
  ~ResultOfRequest() override { requests_->give_back(std::move(request_)); }

  const std::vector<TensorView>& outputs() const override { return views_; }

 private:
  std::shared_ptr<Requests> requests_;
  ov::InferRequest request_;
  std::vector<TensorView> views_;
};

class Compiled final : public CompiledNetwork {
 public:
  Compiled(ov::CompiledModel model, const std::vector<Port>& outputs)
      : requests_(std::make_shared<Requests>(std::move(model))), outputs_(outputs) {}

  std::unique_ptr<RunResult> run(std::span<const TensorView> inputs) override {
    return with_plain_errors(
        [&] { return std::make_unique<ResultOfRequest>(requests_, inputs, outputs_); });
  }

  DType floating_type() const override {
    return with_plain_errors([&] {
      const auto type = requests_->model().get_property(ov::hint::inference_precision);
      return type == ov::element::bf16 ? DType::bf16 : DType::f32;
    });
  }
  int threads() const override {
    return with_plain_errors(
        [&] { return requests_->model().get_property(ov::inference_num_threads); });
  }

 private:
  std::shared_ptr<Requests> requests_;
  std::vector<Port> outputs_;
};

}  // namespace

std::unique_ptr<CompiledNetwork> make_compiled_network(ov::CompiledModel model,
                                                       const std::vector<Port>& outputs) {
  return std::make_unique<Compiled>(std::move(model), outputs);
}

}  // namespace tally::openvino
