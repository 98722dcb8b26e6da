// What records a device's work, to have it done again by one call.
#pragma once

#include <functional>
#include <memory>

namespace tally::model {

class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // Enqueues the recorded work, which reads and writes the memory that it was recorded with.
  virtual void replay() = 0;
};

class GraphCapture {
 public:
  virtual ~GraphCapture() = default;

  // `enqueue` is called once, and what it enqueues is recorded instead of done. Throws what it
  // throws, or Error(environment) if its work cannot be recorded; nothing is left of it then.
  virtual std::unique_ptr<CapturedGraph> record(const std::function<void()>& enqueue) = 0;

  // The host waits until all enqueued work is done.
  virtual void wait() = 0;
  // A clock that only grows, in seconds.
  virtual double now_s() = 0;
};

}  // namespace tally::model
