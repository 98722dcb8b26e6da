// SPDX-License-Identifier: Apache-2.0
// Files that make_fixtures.py wrote, and how to run a model on them.
#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/checked_cast.hpp>
#include <tally/base/log.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/weights/byte_pieces_and_crc32.hpp>

#include "fixture_file.hpp"

namespace tally::model {

struct File : FixtureFile {
  using FixtureFile::FixtureFile;
  operator NamedBytes() const { return {name, bytes}; }  // NOLINT(google-explicit-constructor)
};

inline std::vector<float> read_floats(const std::string& name) {
  const File file(name);
  std::vector<float> values(file.bytes.size() / sizeof(float));
  std::memcpy(values.data(), file.bytes.data(), file.bytes.size());
  return values;
}

// inputs.f32: 16 samples, [16, 3, 12, 12] float32.
inline constexpr std::int64_t kBatch = 16;
inline constexpr std::int64_t kChannels = 3;
inline constexpr std::int64_t kPixels = 144;
inline constexpr std::int64_t kSampleValues = kChannels * kPixels;

struct Batch {
  std::vector<float> values;
  TensorView view;
};

// The samples `order` of inputs.f32, stored channels-last, seen as [N, 3, 12, 12].
inline Batch channels_last_batch(const std::vector<std::int64_t>& order) {
  const auto inputs = read_floats("inputs.f32");
  Batch batch;
  for (const auto sample : order) {
    for (std::int64_t pixel = 0; pixel < kPixels; ++pixel) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        batch.values.push_back(inputs[to_size(sample * kSampleValues + c * kPixels + pixel)]);
      }
    }
  }
  batch.view = {batch.values.data(),
                DType::f32,
                {std::ssize(order), kChannels, 12, 12},
                {kSampleValues, 1, 12 * kChannels, kChannels},
                DeviceKind::cpu};
  return batch;
}

inline std::vector<std::int64_t> in_order() {
  std::vector<std::int64_t> order(to_size(kBatch));
  for (std::int64_t i = 0; i < kBatch; ++i) order[to_size(i)] = i;
  return order;
}

inline Batch contiguous_batch() {
  Batch batch{read_floats("inputs.f32"), {}};
  batch.view = contiguous_view(batch.values.data(), DType::f32, {kBatch, kChannels, 12, 12});
  return batch;
}

inline std::vector<float> run(Predictor& predictor, const Batch& batch) {
  const auto output = predictor.predict({&batch.view, 1}).front();
  const auto* first = output.as<const float>();
  return {first, first + num_elements(output.shape)};
}

// What the model gives for inputs.f32 in order, channels-last.
inline std::vector<float> run(Predictor& predictor) {
  return run(predictor, channels_last_batch(in_order()));
}

// Puts a checkpoint's tensors in the place of the model's. With few bytes a piece: in many pieces.
inline void swap_weights(LoadedModel& loaded, const weights::Checkpoint& checkpoint,
                         std::uint64_t most_bytes = 64 << 20) {
  const auto fit = loaded.match_state_dict(checkpoint);
  for (const auto& note : fit.notes) log::note(note);
  for (const auto& piece : weights::plan_pieces(checkpoint, fit.names, most_bytes)) {
    const weights::FileSource file(checkpoint.files.at(piece.file).path);
    for (const auto& [name, part] : piece.contents) {
      loaded.copy_tensor_part(*name, *part, file.read(part->offset, part->num_bytes));
    }
  }
  loaded.commit();
}

// With the bits that PyTorch gives.
inline PredictorOptions plainly() {
  PredictorOptions options;
  options.cpu_kernels = CpuKernels::torch;
  return options;
}

inline std::unique_ptr<Predictor> load(const NamedBytes& model, const PredictorOptions& options,
                                       const std::string& weights,
                                       const std::string& weights_key = {}) {
  const auto loaded = load_model(model, options);
  swap_weights(*loaded, weights::open_checkpoint(fixture_path(weights), weights_key));
  return loaded->into_predictor();
}

inline std::unique_ptr<Predictor> load(const std::string& model,
                                       const std::optional<std::string>& weights = std::nullopt,
                                       const std::string& weights_key = {}) {
  const File file(model);
  if (!weights) return load_predictor(file, plainly());
  return load(file, plainly(), *weights, weights_key);
}

}  // namespace tally::model
