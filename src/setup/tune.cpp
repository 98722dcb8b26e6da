// SPDX-License-Identifier: Apache-2.0
#include "tune.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <utility>

#include <tally/base/format.hpp>
#include <tally/evaluate/warm_up_with_zeros.hpp>
#include <tally/setup/warm_up.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::app {
namespace {

// A smaller gain is noise, and what a network does without being asked should win.
constexpr double kWorthwhile = 0.97;

class Trials {
 public:
  Trials(const comm::Communicator& comm, model::Predictor& predictor, const TuningSteps& steps)
      : comm_(comm), predictor_(predictor), steps_(steps) {}

  // Collective. Tries a way on all ranks at the same time. It is left out where it fails on a rank,
  // where ranks come to different forms or would go on with other sizes, and where that form
  // was tried already.
  void try_way(const model::CpuExecutionSettings& way) {
    predictor_.use(way);
    if (!works_on_all(steps_.settle)) return;
    auto form = predictor_.form();
    auto next = predictor_.other_sizes();
    const auto found = format("{}; {}", form, fmt::join(next, ", "));
    const bool differs = comm_.broadcast(found) != found;
    if (comm_.max(std::int64_t{differs}) != 0) return;
    if (std::ranges::count(tuning_.tried, form, &TriedWay::form) > 0) return;
    double seconds = 0;  // all ranks begin together: the last collective was all of theirs
    if (!works_on_all([&] { seconds = steps_.seconds_of_batch(); })) return;
    // The slowest rank's time counts, because the run ends with it.
    const auto slowest_ns = comm_.max(std::llround(seconds * 1e9));
    tuning_.tried.push_back({way, std::move(form), slowest_ns, std::move(next)});
  }

  // Chooses the fastest way if it saves more than noise, and returns whether that is another one
  // than until now. At least one way was tried.
  bool finds_better() {
    const auto fastest = std::ranges::min_element(tuning_.tried, {}, &TriedWay::slowest_ns);
    const auto most = kWorthwhile * static_cast<double>(chosen().slowest_ns);
    if (static_cast<double>(fastest->slowest_ns) >= most) return false;
    tuning_.chosen = static_cast<std::size_t>(fastest - tuning_.tried.begin());
    return true;
  }

  const TriedWay& chosen() const { return tuning_.tried.at(tuning_.chosen); }
  const Tuning& tuning() const { return tuning_; }

 private:
  // Collective. Returns whether `step` throws on no rank.
  bool works_on_all(const std::function<void()>& step) const {
    bool fails = false;
    try {
      step();
    } catch (const std::exception&) {  // the usual way needs no reason to be taken
      fails = true;
    }
    return comm_.max(std::int64_t{fails}) == 0;
  }

  const comm::Communicator& comm_;
  model::Predictor& predictor_;
  const TuningSteps& steps_;
  Tuning tuning_;
};

std::string quoted(const std::string& form) {
  return format("'{}'", form.empty() ? "TorchScript" : form);
}

std::string milliseconds(const TriedWay& way) {
  return format("{:.3g} ms", static_cast<double>(way.slowest_ns) / 1e6);
}

std::string note_of(const Tuning& tuning) {
  const auto& [tried, chosen] = tuning;
  if (tried.size() < 2) {
    return "--tune found no other way to run the model on all ranks";
  }
  std::vector<std::string> others;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (i == chosen) continue;
    others.push_back(format("{} {}", quoted(tried[i].form), milliseconds(tried[i])));
  }
  return format("--tune: {} takes {} a batch; others: {}", quoted(tried.at(chosen).form),
                milliseconds(tried[chosen]), fmt::join(others, ", "));
}

}  // namespace

Tuning fastest_way(const comm::Communicator& comm, model::Predictor& predictor,
                   const TuningSteps& steps, const model::CpuExecutionSettings& usual) {
  Trials trials(comm, predictor, steps);
  const auto others = predictor.other_kernels();  // of how it runs before anything is tried
  trials.try_way(usual);
  if (trials.tuning().tried.empty()) return {};  // use_way() warms it up again, which tells why
  for (const auto kernels : others) trials.try_way({kernels, usual.at_a_time});
  trials.finds_better();
  // A better size proposes further ones; this ends when none saves more than noise.
  do {
    const auto best = trials.chosen();  // a copy: trying adds to what it lies in
    for (const auto size : best.next) trials.try_way({best.way.kernels, size});
  } while (trials.finds_better());
  return trials.tuning();
}

bool runs_script_on_cpu(const EvaluationSession& session) {
  const auto& predictor = session.model.predictor;
  const bool is_script = predictor &&
                         predictor->model_format() == model::ModelFormat::torchscript &&
                         !(predictor->card() && predictor->card()->package);
  // Autocast runs the module as its file says.
  const bool is_cast = session.config.execution.precision.starts_with("amp-");
  return is_script && !is_cast && session.hardware.device.kind == DeviceKind::cpu;
}

bool has_several_ways(const EvaluationSession& session) {
  return runs_script_on_cpu(session) && session.config.execution.cpu_kernels == "auto";
}

void tune(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  if (!has_several_ways(session)) return;
  if (session.resumption && session.resumption->facts.way) {
    use_way(comm, session, *session.resumption->facts.way, notes);
    notes.add("the model runs in the way that it did before the run was resumed");
    return;
  }
  if (!session.config.execution.tune) return;
  const trace::Span span(trace::Kind::step, "tune");
  const auto info = warm_up_info(session);
  const auto size = session.execution.batch_size;
  auto& bindings = session.execution.inputs->bindings;
  const auto& stream = *session.hardware.stream;
  auto& predictor = *session.model.predictor;
  const auto settle = [&] {
    evaluate::warm_up(info, size, bindings, predictor, *session.scoring.task, stream);
  };
  const auto seconds_of_batch = [&] {
    return evaluate::seconds_of_batch(info, size, bindings, predictor, stream);
  };
  // Trials leave the predictor in any of the ways, so that use_way() sets the chosen one again.
  const auto usual = session.execution.way.value_or(model::CpuExecutionSettings{});
  const auto tuning = fastest_way(comm, predictor, {settle, seconds_of_batch}, usual);
  use_way(comm, session, tuning.tried.empty() ? usual : tuning.tried.at(tuning.chosen).way, notes);
  notes.add(note_of(tuning));
}

}  // namespace tally::app
