// SPDX-License-Identifier: Apache-2.0
// A LoadedModel is a model before it is optimised: its weights can be replaced, again and again,
// and each time a predictor can be made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tally/model/predictor.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::model {

// How a checkpoint matches a model.
struct StateDictMatch {
  std::vector<std::string> names;  // of the checkpoint's tensors whose parts are to be put
  std::string prefix;              // taken off those that begin with it
  // What was chosen: conversions between types, prefixes taken off, entries passed
  // over. One line each.
  std::vector<std::string> notes;
};

class LoadedModel {
 public:
  virtual ~LoadedModel() = default;

  // Holds names, shapes and types against the model's, and puts back what the model itself had
  // where a checkpoint may leave it out: counters, and buffers that are in no state_dict.
  // Error(model) names what is missing, unexpected or of another shape or type, the first ten of
  // each, and the prefix (PredictorOptions) that would fit, and changes nothing; also where the
  // model's weights are constants.
  virtual StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint) = 0;
  // Puts one part of the tensor `name` in its place; `bytes` are the part's own. All parts that
  // match_state_dict() asked for, in any order, then commit(); predictors of before must not be
  // used any more.
  virtual void copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                                std::span<const std::byte> bytes) = 0;
  virtual void commit() = 0;

  // Of the weights that can be replaced, in order of name.
  virtual std::size_t num_tensors() = 0;
  // "fc.bias float32 [10] <sha256 of its little-endian bytes in row-major order>"
  virtual std::string tensor_digest(std::size_t tensor) = 0;

  // Of the weights as they are now.
  virtual std::unique_ptr<Predictor> make_predictor() = 0;
  // The same in less memory: nothing else can be done with the model afterwards.
  virtual std::unique_ptr<Predictor> into_predictor() = 0;
};

// Loads a TorchScript model in evaluation mode and casts it, or loads a .pt2 package, an
// ONNX file or an .xml file of OpenVINO (with options.files_beside). Error(model) for any other
// kind of file, naming it and what to do; for a package that was compiled for something else.
// Error(environment) where the device or the LibTorch for it is not there.
std::unique_ptr<LoadedModel> load_model(const NamedBytes& model, const PredictorOptions& options);

// A predictor of the weights that are in the file.
std::unique_ptr<Predictor> load_predictor(const NamedBytes& model, const PredictorOptions& options);

}  // namespace tally::model
