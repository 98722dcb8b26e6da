// SPDX-License-Identifier: Apache-2.0
#include "aggregate_fixture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/base/error.hpp>
#include <tally/metrics/device_accumulator.hpp>

namespace tally::app {

namespace fs = std::filesystem;

FileEdit with_sites(std::vector<std::int32_t> values) {
  return [values = std::move(values)](hid_t file) {
    raw::dataset(file, "/groups/site", H5T_STD_I32LE, {values.size()}, values.data());
  };
}

LocalSamples GivenScores::score(const EvaluationSession& /*session*/, LoopObserver& /*observer*/) {
  throw Error(ErrorKind::internal, "tests score samples themselves");
}

AggregateTest::AggregateTest()
    : folder_(fs::temp_directory_path() /
              world().broadcast("tally-aggregate-" + std::to_string(::getpid()))) {
  if (world().is_root()) fs::create_directory(folder_);
  world().barrier();
}

AggregateTest::~AggregateTest() {
  world().barrier();
  if (world().is_root()) fs::remove_all(folder_);
}

EvaluationSession AggregateTest::open_written(const fs::path& path, tasks::TaskOptions options) {
  EvaluationSession session(config_);
  session.data.set = std::make_unique<data::DataSet>(path);
  session.source = std::make_unique<GivenScores>(false);
  const auto& info = session.data.set->info();
  options.task = options.metrics.task = info.task;
  options.metrics.num_classes = info.num_classes;
  options.metrics.ignore_index = info.ignore_index;
  options.metrics.no_answer = options.answer_policy.no_answer = info.no_answer;
  options.metrics.has_margins = true;
  options.targets.clear();
  for (const auto& target : info.columns.targets) options.targets.push_back(target.name);
  session.scoring.task_name = info.task;
  session.scoring.task = tasks::make_task(options);
  session.plan.grid.emplace(num_samples(session), batch_size_);
  session.plan.slice = session.plan.grid->slice_of(world().rank(), world().world_size());
  session.reducer = comm::make_reducer(comm::ReduceRequest::mpi, device::Device{}, world());
  session.scoring.num_units = count_units(session);
  return session;
}

LocalSamples AggregateTest::score(const EvaluationSession& session,
                                  std::vector<float> outputs) const {
  const tasks::Task& task = *session.scoring.task;
  auto samples = empty_samples(session, task.columns(), task.sample_columns());
  const auto own = own_samples(session);
  if (own.count == 0) return samples;
  const data::ColumnInfo& label = session.data.set->info().target("label");
  std::vector<std::byte> labels(to_size(own.count * label.row_bytes()));
  session.data.set->read_rows(label, own.first, own.count, labels);
  Shape label_shape{own.count};
  label_shape.insert(label_shape.end(), label.row_shape.begin(), label.row_shape.end());
  const std::int64_t width = std::ssize(outputs) / session.plan.grid->num_samples();
  const std::vector<TensorView> of_model{
      contiguous_view(outputs.data() + own.first * width, DType::f32, {own.count, width})};
  const std::vector<TensorView> targets{contiguous_view(labels.data(), label.dtype, label_shape)};

  const device::Device cpu;
  const device::Stream stream(cpu);
  metrics::DeviceAccumulator counts(samples.state, stream);
  const auto scorer = task.make_scorer(own.count, cpu);
  scorer->enqueue(
      {.first_index = own.first, .num_samples = own.count, .outputs = of_model, .targets = targets},
      counts);
  counts.finish();
  tasks::CollectedBatch collected;
  scorer->collect(collected);
  samples.log.append(collected.records);
  samples.retained.append(collected.retained);
  for (const std::int64_t index : collected.not_finite) samples.loop.stats.not_finite.add(index);
  return samples;
}

LocalSamples AggregateTest::retain(const EvaluationSession& session,
                                   const std::vector<tasks::SequenceRecord>& all) const {
  auto samples = empty_samples(session, {}, session.scoring.task->sample_columns());
  const auto own = own_samples(session);
  predictions::RecordBatch batch;
  batch.num_rows = own.count;
  batch.columns.resize(1);
  for (std::int64_t i = own.first; i < own.end(); ++i) {
    append_record(all.at(to_size(i)), batch.columns[0]);
  }
  samples.retained.append(batch);
  return samples;
}

std::string refusal_of(ErrorKind kind, const std::function<void()>& step) {
  const comm::SuppressedFailures suppressed(kind);
  try {
    step();
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, kind);
    return failure.suppressed_message;
  }
  return "nothing was refused";
}

std::optional<double> value_of(const metrics::Results& results, std::string_view name) {
  const metrics::MetricValue* const found = results.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? std::nullopt : found->value;
}

std::string text_of(const predictions::PredictionLog& log, std::int64_t column) {
  std::string text(to_size(log.num_elements(column)), ' ');
  log.read_elements(column, 0, log.num_elements(column), std::as_writable_bytes(std::span(text)));
  return text;
}

data::TokenFile documents(std::int64_t count, std::int64_t windows) {
  data::TokenFile file{.task = "language-model", .rows = {}, .ids = {}};
  for (std::int64_t unit = 0; unit < count; ++unit) {
    for (std::int64_t window = 0; window < windows; ++window) file.rows.push_back({unit, {1, 2}});
    file.ids.push_back(std::to_string(unit));
    file.bytes.push_back(unit + 1);
    file.words.push_back(1);
  }
  return file;
}

std::vector<tasks::SequenceRecord> records_of(const data::TokenFile& file,
                                              const std::vector<double>& losses) {
  std::vector<tasks::SequenceRecord> records;
  for (const data::TokenRecord& row : file.rows) {
    const std::int64_t tokens = std::ranges::count_if(
        row.labels, [&](std::int64_t label) { return label != file.ignore_index; });
    const double loss = losses.at(records.size());
    records.push_back({.index = std::ssize(records),
                       .unit = row.unit,
                       .position = row.choice,
                       .tokens = tokens,
                       .right = tokens > 0 ? 1 : 0,
                       .in_top5 = tokens,
                       .loss = loss,
                       .finite = std::isfinite(loss) ? 1 : 0});
  }
  return records;
}

}  // namespace tally::app
