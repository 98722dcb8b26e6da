// SPDX-License-Identifier: Apache-2.0
#include "session_fixture.hpp"

#include <unistd.h>

#include <memory>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/reducer.hpp>

namespace tally::app {

namespace fs = std::filesystem;

model::Outputs GivenPredictor::predict(std::span<const TensorView> inputs) {
  ++num_calls;
  const std::int64_t rows = inputs.front().shape.front();
  scores_.assign(to_size(rows * num_scores_), score(num_calls));
  return {contiguous_view(scores_.data(), DType::f32, {rows, num_scores_})};
}

std::string GivenPredictor::form() const {
  const bool is_plain = !used.empty() && used.back().kernels == model::CpuKernels::torch;
  return is_plain ? std::string() : compiled_form;
}

LocalSamples GivenSource::score(const EvaluationSession& /*session*/, LoopObserver& /*observer*/) {
  throw Error(ErrorKind::internal, "this source has no scores");
}

SessionFixture::SessionFixture()
    : folder_(fs::temp_directory_path() /
              world().broadcast("tally-fixture-" + std::to_string(::getpid()))) {
  if (world().is_root()) fs::create_directory(folder_);
  world().barrier();
}

SessionFixture::~SessionFixture() {
  world().barrier();
  if (world().is_root()) fs::remove_all(folder_);
}

EvaluationSession SessionFixture::open_written(const fs::path& path, tasks::TaskOptions options) {
  EvaluationSession session(config_);
  session.hardware.device.model = "a processor";
  session.hardware.stream.emplace(session.hardware.device);
  session.data.set = std::make_unique<data::DataSet>(path);
  const auto& info = session.data.set->info();
  session.data.file = {path.string(), info.file_bytes, session.data.set->identity()};
  session.model.model = {config_.files.model, 1000, "digest of the model"};
  session.model.predictor = std::make_unique<GivenPredictor>(info.num_classes);
  session.source = std::make_unique<GivenSource>(false);
  options.task = options.metrics.task = info.task;
  options.metrics.num_classes = info.num_classes;
  options.metrics.ignore_index = info.ignore_index;
  options.targets.clear();
  for (const auto& target : info.columns.targets) options.targets.push_back(target.name);
  session.scoring.task_name = info.task;
  session.scoring.outputs = options.outputs;
  session.scoring.task = tasks::make_task(options);
  session.scoring.num_units = info.num_units > 0 ? info.num_units : num_samples(session);
  session.execution.batch_size = batch_size_;
  session.reducer = comm::make_reducer(comm::ReduceRequest::mpi, session.hardware.device, world());
  session.plan.grid.emplace(num_samples(session), batch_size_);
  session.plan.slice = session.plan.grid->slice_of(world().rank(), world().world_size());
  return session;
}

std::string agreed_refusal(ErrorKind kind, const std::function<void()>& step) {
  const comm::SuppressedFailures suppressed(kind);
  try {
    step();
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, kind);
    return failure.suppressed_message;
  }
  return "nothing was refused";
}

}  // namespace tally::app
