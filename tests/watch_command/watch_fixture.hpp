// SPDX-License-Identifier: Apache-2.0
// Sessions of a watch without MPI and LibTorch: a model that takes a tensor "w", and checkpoints
// that have it or not.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tally/session/session.hpp>

#include "expect_error.hpp"
#include "scratch_folder.hpp"

namespace tally::app {

// Reads names alone.
class NamesOnlyModel final : public model::LoadedModel {
 public:
  model::StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint) override {
    if (checkpoint.tensors.contains("w")) return {{"w"}, {}, {}};
    throw Error(ErrorKind::model, "the weights do not fit");
  }
  void copy_tensor_part(const std::string&, const weights::StoredPart&,
                        std::span<const std::byte>) override {}
  void commit() override {}
  std::size_t num_tensors() override { return 1; }
  std::string tensor_digest(std::size_t) override { return {}; }
  std::unique_ptr<model::Predictor> make_predictor() override { return nullptr; }
  std::unique_ptr<model::Predictor> into_predictor() override { return nullptr; }
};

class WatchFixture : public watch::ScratchFolder {
 protected:
  WatchFixture() {
    std::filesystem::create_directories(at("in"));
    config_.watch.checkpoints = at("in");
    config_.watch.poll_s = 0;  // each scan is due at once
    config_.settings = {{"limit", "0"}, {"batch-size", "64"}, {"data", "set.h5"}};
  }

  // Of the task multiclass, with these metrics.
  EvaluationSession session() {
    EvaluationSession made(config_);
    made.output.folder = at("out");
    made.data.file = {"set.h5", 20, "the data's identity"};
    made.model.loaded = std::make_unique<NamesOnlyModel>();
    made.model.model = {"net.pt", 10, "the model's digest"};
    made.model.weights.emplace().tensors_sha256 = "the weights' digest";
    made.scoring.task_name = "multiclass";
    tasks::TaskOptions options;
    options.metrics.num_classes = 5;
    options.metrics.names = metrics_;
    made.scoring.task = tasks::make_task(options);
    return made;
  }

  // A safetensors file with one number of this name, written at that second.
  void checkpoint(const std::string& name, std::int64_t modified_s,
                  const std::string& tensor = "w") const {
    const std::string header =
        "{\"" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::uint64_t size = header.size();
    write("in/" + name,
          std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + "\1\1\1\1",
          modified_s);
  }

  config::RunConfig config_;
  std::vector<std::string> metrics_{"accuracy", "loss"};
};

}  // namespace tally::app
