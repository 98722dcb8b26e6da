// SPDX-License-Identifier: Apache-2.0
// Which operators a thread calls.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <ATen/record_function.h>

namespace tally::graph_optimizer {

inline thread_local std::map<std::string, int>* calls_here = nullptr;

inline std::unique_ptr<at::ObserverContext> note_call(const at::RecordFunction& call) {
  ++(*calls_here)[call.name()];
  return nullptr;
}

// How often this thread calls each operator, to the end of the scope.
class Calls {
 public:
  Calls()
      : callback_(at::addThreadLocalCallback(
            at::RecordFunctionCallback(note_call).scopes({at::RecordScope::FUNCTION}))) {
    calls_here = &counts_;
  }
  ~Calls() {
    at::removeCallback(callback_);
    calls_here = nullptr;
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  int of(const char* name) { return counts_[name]; }

 private:
  std::map<std::string, int> counts_;
  at::CallbackHandle callback_;
};

}  // namespace tally::graph_optimizer
