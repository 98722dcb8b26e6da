// SPDX-License-Identifier: Apache-2.0
// --tune on CPUs: which way of running the network is fastest, by trying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/model/cpu_execution_settings.hpp>
#include <tally/model/predictor.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// What a rank does to try the way that its predictor has just been given. Neither communicates;
// what they throw leaves that way out.
struct TuningSteps {
  std::function<void()> settle;              // runs a warm-up batch
  std::function<double()> seconds_of_batch;  // of the run's size
};

struct TriedWay {
  model::CpuExecutionSettings way;
  std::string form;                // see Predictor::form()
  std::int64_t slowest_ns = 0;     // a batch, on the slowest rank
  std::vector<std::int64_t> next;  // sizes to try after it; see Predictor::other_sizes()
};

struct Tuning {
  // In order, the usual one first; empty where that fails or ranks differ in it.
  std::vector<TriedWay> tried;
  std::size_t chosen = 0;  // of them
};

// Collective. Tries `usual` and what else the predictor may run: first other kernels, then, for the
// fastest, other numbers of samples at a time for as long as they pay. Each form once, and only
// where all ranks have it, and go on from it alike. What saves no more than noise is not chosen.
// The predictor is left with any of them.
Tuning fastest_way(const comm::Communicator& comm, model::Predictor& predictor,
                   const TuningSteps& steps, const model::CpuExecutionSettings& usual);

// Whether the model is a TorchScript file, not a package, and runs on a CPU.
bool runs_script_on_cpu(const EvaluationSession& session);

// Whether a network runs that --tune can try in several ways, be it asked for or not: TorchScript,
// on a CPU, with --cpu-kernels auto.
bool has_several_ways(const EvaluationSession& session);

// Collective. With --tune, where has_several_ways(): finds the fastest way for the session's
// predictor, which is warm, has it and all later ones run that way, and adds a note.
void tune(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

}  // namespace tally::app
