// SPDX-License-Identifier: Apache-2.0
// A Predictor is a trained model that is ready to run: it takes tensors and returns tensors. This
// header shows nothing of LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/device.hpp>
#include <tally/model/card.hpp>
#include <tally/model/cpu_execution_settings.hpp>
#include <tally/model/precision.hpp>

namespace tally::model {

// A file's name, for messages, and its bytes (read once and broadcast).
struct NamedBytes {
  std::string name;
  std::span<const std::byte> bytes;
};

// What kind of file a model is.
enum class ModelFormat { torchscript, package, onnx };

// What is known of a network's operators, on one device.
struct Determinism {
  // Whether all of them give the same bits for the same inputs, those of varying_on_gpus aside.
  bool is_known = true;
  // Whether all were seen, and none draws random numbers: on a GPU runs may differ all the same.
  bool draws_no_numbers = true;
  // Whether operators of training are active in it, which its user allowed.
  bool is_in_training_mode = false;
  // Names of operators that may give other bits on each run on a GPU.
  std::vector<std::string> varying_on_gpus = {};
};

// What a model returned.
using Outputs = std::vector<TensorView>;

// What Predictor::warm_up_small() takes: enough to tell a batch from a single sample and from a
// pair.
inline constexpr std::int64_t kFewSamples = 3;

class Predictor {
 public:
  virtual ~Predictor() = default;

  // Inputs in the order of the card, or of forward()'s arguments, all with the same number of rows,
  // in the memory of the device of the options, any strides. Returns the outputs of the card, or
  // all without one, at least one: [rows, ...] there, contiguous, floating-point ones as float32
  // (bfloat16 ones as they are where the options say so), integers as they are, valid until the
  // next call. On CUDA the work is enqueued on the stream of the options; the host does not wait
  // for it. Error(model) if the model fails or returns something else than tensors of that many
  // rows.
  virtual Outputs predict(std::span<const TensorView> inputs) = 0;
  // The scores of the next batch are read only in its first `num_samples` rows, at places whose
  // label, of `labels` [rows, places], is not `ignored`: others need not be computed, and may be
  // anything. Nothing else changes. On the host, int32 or int64; on GPUs without effect.
  virtual void score_only(const TensorView& /*labels*/, std::int64_t /*num_samples*/,
                          std::int64_t /*ignored*/) {}
  // As predict(), for a warm-up batch: here the host may wait, and ways of running batches of these
  // shapes are tried. Afterwards predict() gives the same bits for the same batch. The form, which
  // form() names, decides which bits; a replay on a GPU gives those of the form.
  virtual Outputs warm_up(std::span<const TensorView> inputs) { return predict(inputs); }
  // Settles the same for batches of `batch_size` by running only kFewSamples samples in the shapes
  // of `inputs`, which takes less time, and returns the scores of these; nothing where only
  // warm_up() can tell.
  virtual std::optional<Outputs> warm_up_small(std::span<const TensorView> /*inputs*/,
                                               std::int64_t /*batch_size*/) {
    return std::nullopt;
  }
  // From the next warm-up batch on, and for TorchScript networks only: on CPUs the kernels that are
  // named; on GPUs only CpuKernels::torch has an effect, LibTorch's operators alone. What cannot be
  // compiled so is compiled in a lesser way: form() says how.
  virtual void use(const CpuExecutionSettings& /*way*/) {}
  // From the next batch on the first output, [rows, classes], holds minus infinity as the score of
  // these classes.
  virtual void exclude_classes(const std::vector<std::int64_t>& /*classes*/) {}
  // What may be faster than how the last warm-up batch ran: other kernels, or, with the same, fewer
  // or more samples at a time. Empty where there is nothing else to try.
  virtual std::vector<CpuKernels> other_kernels() const { return {}; }
  virtual std::vector<std::int64_t> other_sizes() const { return {}; }
  // Gives memory of a GPU back that LibTorch keeps for later: after a batch that was too large, of
  // which pieces are left that a smaller one cannot use. Outputs become invalid.
  virtual void free_unused_memory() {}
  // None if the file has no card.
  virtual const std::optional<ModelCard>& card() const = 0;
  // What forward() calls what it is given, in order; empty where that is not known.
  virtual std::vector<std::string> argument_names() const { return {}; }
  virtual ModelFormat model_format() const { return ModelFormat::torchscript; }
  // The LibTorch whose tensors it computes with, on which the bits of the outputs depend:
  // "LibTorch 2.11.0+cu130, AVX2"; empty where there is none. OpenVINO's version is in form().
  virtual std::string backend() const { return {}; }
  // What was done to its operations, settled by the first batch: "Winograd F(2x2, 3x3),
  // oneDNN Graph", or empty.
  virtual std::string form() const { return {}; }
  // What the user should know about how it runs, settled by the first batch.
  virtual std::vector<std::string> notes() const { return {}; }
  // Whether two runs over the same batch can be relied on to give the same bits.
  virtual Determinism determinism() const { return {}; }
  // Whether batches like that of the warm-up are replays of a recorded CUDA graph.
  virtual bool is_replayed() const { return false; }
  // The floating type in which an image had best arrive as this input. float32 is taken as well.
  virtual DType input_dtype(std::size_t /*input*/) const { return DType::f32; }
};

struct PredictorOptions {
  int threads = 1;  // that run the model; on CPUs each takes a piece of the batch where it can
  device::Device device;
  void* stream = nullptr;  // cudaStream_t of that device; outlives the predictor
  Precision precision = Precision::model;
  bool tune = false;  // GPUs: cuDNN times its algorithms, and may choose others in each process
  CpuKernels cpu_kernels = CpuKernels::automatic;
  bool cuda_graphs = true;  // GPUs: replay a forward pass that launches many small kernels
  // Of a checkpoint's names, to be taken off: tensors without it are left out. Empty: the usual
  // ones are taken off where that makes the names fit.
  std::string weights_prefix;
  // Hands out outputs of bfloat16 as they are; else they are widened to float32.
  bool keeps_bfloat16 = false;
  // The scores of sequences are read only where Predictor::score_only() says so.
  bool scores_at_places = false;
  // Evaluate a model whose file was made in training mode, as the file says; refuse it otherwise.
  bool allow_training_mode = false;
  // A card found beside the model file (<model>.json), used when the file holds none.
  std::optional<NamedBytes> card;
  // What files_beside() names.
  std::vector<NamedBytes> files_beside;
};

}  // namespace tally::model
