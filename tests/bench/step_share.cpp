// SPDX-License-Identifier: Apache-2.0
// How much of a run's loop is the model: whole passes over a data set, in turn with as many bare
// forward passes over one prepared batch, in one process.
//
//   step_share MODEL DATA BATCH_SIZE THREADS ROUNDS
//
// For each round a line: seconds of the loop, seconds of the bare forward passes, and of the loop
// those for preparation, metrics and waiting for the reader.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/allocator.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/device/buffer.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/tasks/task.hpp>

namespace {

using namespace tally;

constexpr int kSlots = 3;

class Source : public evaluate::BatchSource {
 public:
  explicit Source(data::BatchReader& reader) : reader_(reader) {}
  const data::Batch* next() override { return reader_.next(); }

 private:
  data::BatchReader& reader_;
};

class Silent : public evaluate::Observer {
 public:
  void batch_done(std::int64_t, const exact::State&) override {}
};

struct Setup {
  data::DataSet set;
  device::Stream stream;
  std::unique_ptr<model::Predictor> predictor;
  evaluate::InputMapping bindings;
  std::unique_ptr<tasks::Task> task;
  plan::BatchGrid grid;
  std::vector<device::HostBuffer> memory;

  std::vector<std::span<std::byte>> slots() {
    std::vector<std::span<std::byte>> spans;
    for (auto& buffer : memory) spans.push_back(buffer.bytes());
    return spans;
  }
  plan::BatchRange all() const { return {0, grid.num_batches()}; }
};

Setup set_up(const std::vector<std::string>& words) {
  const std::int64_t batch_size = std::stoll(words.at(2));
  data::DataSet set(words.at(1));
  device::Stream stream{device::Device()};
  const auto bytes = read_file(words.at(0), ErrorKind::model, "model");
  model::PredictorOptions how;
  how.threads = std::stoi(words.at(3));
  auto predictor = model::load_predictor({words.at(0), bytes}, how);
  auto bindings = evaluate::map_inputs(set.info(), *predictor, batch_size, stream.device());
  tasks::TaskOptions options;
  options.task = set.info().task;
  options.metrics = {.task = set.info().task, .num_classes = set.info().num_classes};
  auto task = tasks::make_task(options);
  evaluate::warm_up_batch(set.info(), batch_size, bindings.bindings, *predictor, *task, stream);
  const plan::BatchGrid grid(set.info().num_samples, batch_size);
  Setup setup{std::move(set),
              std::move(stream),
              std::move(predictor),
              std::move(bindings),
              std::move(task),
              grid,
              {}};
  for (int slot = 0; slot < kSlots; ++slot) {
    setup.memory.emplace_back(data::slot_bytes(setup.set.info(), batch_size),
                              setup.stream.device());
  }
  return setup;
}

struct LoopTimes {
  evaluate::LoopStats stats;
  double wait_s = 0;
};

LoopTimes loop(Setup& setup) {
  const auto folder = std::filesystem::temp_directory_path();
  constexpr std::int64_t kLogBytes = std::int64_t{64} << 20;
  predictions::PredictionLog log(setup.task->columns(), folder, kLogBytes);
  predictions::PredictionLog kept(setup.task->retained_columns(), folder, kLogBytes);
  exact::State state(setup.task->layout());
  data::BatchReader reader(setup.set, setup.grid, setup.all(), setup.slots());
  Source source(reader);
  Silent silent;
  const evaluate::LoopInputs parts{setup.stream,
                                   setup.grid.batch_size(),
                                   data::slot_bytes(setup.set.info(), setup.grid.batch_size()),
                                   1,
                                   source,
                                   setup.bindings.bindings,
                                   *setup.predictor,
                                   *setup.task,
                                   log,
                                   kept,
                                   silent};
  const auto stats = evaluate::run(parts, state);
  return {stats, reader.wait_s()};
}

double bare_forward_s(Setup& setup) {
  data::BatchReader reader(setup.set, setup.grid, {0, 1}, setup.slots());
  const auto prepared = evaluate::prepare(*reader.next(), setup.bindings.bindings, setup.stream);
  const Stopwatch watch;
  for (std::int64_t i = 0; i < setup.grid.num_batches(); ++i) setup.predictor->predict(prepared);
  return watch.elapsed_s();
}

void run(const std::vector<std::string>& words) {
  Setup setup = set_up(words);
  for (int round = 0; round < std::stoi(words.at(4)); ++round) {
    const auto [of_loop, wait_s] = loop(setup);
    const double bare_s = bare_forward_s(setup);
    std::printf("%.6g %.6g %.6g %.6g %.6g\n", of_loop.total_s, bare_s, of_loop.prepare_s,
                of_loop.score_s, wait_s);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_share: %s\n", error.what());
    return 2;
  }
}
