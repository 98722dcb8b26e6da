// SPDX-License-Identifier: Apache-2.0
// Networks of ONNX files and of OpenVINO's own, run by OpenVINO on CPUs. OpenVINO is optional: a
// library of its own holds the bodies, and is opened with the first such network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::openvino {

// One input or output of a network.
struct Port {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // -1 where a size may vary
  // Of an output: the type of the operator that computes it, "Softmax"; empty for inputs.
  std::string computed_by;
};

// A file that holds weights of the network beside it, by the name that the network has for it.
struct WeightsFile {
  std::string name;
  std::span<const std::byte> bytes;
};

// What a run returned.
class RunResult {
 public:
  virtual ~RunResult() = default;
  // All outputs of the network, contiguous, valid as long as this.
  virtual const std::vector<TensorView>& outputs() const = 0;
};

// A network that is ready to run, for inputs of some shapes.
class CompiledNetwork {
 public:
  virtual ~CompiledNetwork() = default;
  // Inputs are contiguous, in order, in the types of the network's ports. Several threads may run
  // it at once, and as many as CompileOptions::runs do not wait for each other. The same inputs
  // give the same bits in every process with as many threads. Throws std::runtime_error.
  virtual std::unique_ptr<RunResult> run(std::span<const TensorView> inputs) = 0;
  // The type that floating-point operators compute in; it may be another one than was asked for.
  virtual DType floating_type() const = 0;
  // Of all runs together: no more than the processor has cores for this process.
  virtual int threads() const = 0;
};

struct CompileOptions {
  int runs = 1;                      // at the same time
  int threads = 1;                   // of each run
  DType floating_type = DType::f32;  // or bf16
};

// A network that was read from its file.
class Network {
 public:
  virtual ~Network() = default;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  // The types of its operators, those of loops and branches too, sorted, each once.
  virtual std::vector<std::string> operators() const = 0;
  // What the file says under the name; empty where it says nothing.
  virtual std::string metadata(const std::string& name) const = 0;
  // Bytes of the largest tensor that it computes for inputs of these shapes; 0 where they leave it
  // open.
  virtual std::int64_t largest_tensor_bytes(const std::vector<Shape>& shapes) const = 0;
  // `shapes` of the inputs, -1 where a size may vary from run to run. Throws std::runtime_error.
  virtual std::unique_ptr<CompiledNetwork> compile(const std::vector<Shape>& shapes,
                                                   const CompileOptions& options) const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string version() const = 0;  // "2026.4.1"
  // Names of the files beside an ONNX file that hold weights of it, each once, sorted. Throws
  // std::runtime_error where the file is damaged.
  virtual std::vector<std::string> weights_files(std::span<const std::byte> onnx) const = 0;
  // `graph` is an ONNX file or an .xml file of OpenVINO. Nothing of what is given is referred to
  // later. Throws std::runtime_error.
  virtual std::unique_ptr<Network> read(std::span<const std::byte> graph,
                                        std::span<const WeightsFile> weights) const = 0;
};

// Opens OpenVINO's libraries with the first call. Error(environment) where this build of Tally has
// none, or where they cannot be loaded.
const Engine& engine();

}  // namespace tally::openvino
