// SPDX-License-Identifier: Apache-2.0
// Where a result comes from: what the bits depend on, and what helps to explain them later.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// What equal digests are promised for, as a hash: processor and instruction set, LibTorch, batch
// size, threads per rank, model, data, and everything that decides what is counted and saved.
std::string digest_class(const EvaluationSession& session);

// Versions, launcher, host, command: (name, value) for the report.
std::vector<std::pair<std::string, std::string>> environment_of(const comm::Communicator& comm);

// Which LibTorch computed the scores, if any did.
std::vector<std::pair<std::string, std::string>> backend_of(const EvaluationSession& session);

// Versions and settings of what adds up, and of what computes on a GPU: for the report.
std::vector<std::pair<std::string, std::string>> device_settings(const EvaluationSession& session);

// "TorchScript, oneDNN Graph", or "compiled package, bf16".
std::string form_of(const EvaluationSession& session);

}  // namespace tally::app
