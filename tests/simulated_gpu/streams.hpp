// SPDX-License-Identifier: Apache-2.0
// Streams as queues whose operations run later: in the order of their stream, in any order among
// streams that events allow, at a time that chance decides. Also who knows what is over: an
// operation may lean on another one, and the host on any, only if an event or a wait says so.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace simulated_gpu {

// Of each stream, by its number: how many of its operations are known to be over.
using Clock = std::map<int, std::int64_t>;

struct Operation {
  std::string name;
  int stream = 0;
  std::int64_t number = 0;  // in its stream, from 1
  Clock before;             // what is over when it begins
};

// Between two operations of a stream.
struct Point {
  int stream = 0;
  std::int64_t number = 0;  // of the last one before it
  Clock before;             // what is over when this point is reached
};

class Streams {
 public:
  int create();

  using Run = std::function<void(const Operation&)>;
  // Returns the number of the operation.
  std::int64_t enqueue(int stream, std::string name, Run run);
  // Later operations of the stream wait for the point.
  void wait(int stream, const Point& point);
  Point end_of(int stream) const;

  bool is_over(const Point& point) const;
  // Some operations that may run now, or none.
  void run_some();
  void run_until(const Point& point);
  void run_all();

  // The host has been told that the point is reached.
  void host_knows(const Point& point);
  bool host_knows(int stream, std::int64_t number) const;

 private:
  struct Queued {
    Operation operation;
    Run run;                       // none for a wait
    std::optional<Point> awaited;  // by a wait
  };
  struct Queue {
    std::deque<Queued> queued;
    std::int64_t num_enqueued = 0;
    std::int64_t num_over = 0;
    Clock known;  // at its end
  };
  std::int64_t add(int stream, Queued queued);
  bool is_ready(const Queue& queue) const;
  bool run_one();

  std::map<int, Queue> queues_;
  int num_created_ = 0;
  Clock host_;
};

// Whether the operation `number` of `stream` is over when `later` begins.
bool is_ordered(int stream, std::int64_t number, const Operation& later);

}  // namespace simulated_gpu
