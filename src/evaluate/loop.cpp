#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/evaluate/loop.hpp>

namespace tally::evaluate {
namespace {

// Adds the time it lives to a sum.
class Lap {
 public:
  explicit Lap(double& sum_s) : sum_s_(sum_s) {}
  ~Lap() { sum_s_ += watch_.elapsed_s(); }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  double& sum_s_;
  Stopwatch watch_;
};

}  // namespace

LoopTimes run(const Parts& parts, exact::State& state) {
  LoopTimes times;
  const Stopwatch watch;
  predictions::RecordBatch records;
  std::vector<TensorView> prepared;
  while (const data::Batch* batch = parts.source.next()) {
    {
      const Lap lap(times.prepare_s);
      prepared = prepare(*batch, parts.routes);
    }
    TensorView output;
    {
      const Lap lap(times.predict_s);
      output = parts.predictor.predict(prepared);
    }
    {
      const Lap lap(times.score_s);
      parts.task.score({batch->samples.first, batch->samples.count, output, batch->targets}, state,
                       records);
      parts.log.append(records);
    }
    times.samples += batch->samples.count;
    if (times.first_batch_samples == 0) {
      times.first_batch_samples = batch->samples.count;
      times.first_batch_s = watch.elapsed_s();
    }
    parts.observer.batch_done(times.samples, state);
  }
  state.canonicalise();
  times.total_s = watch.elapsed_s();
  return times;
}

}  // namespace tally::evaluate
