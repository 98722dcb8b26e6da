// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <algorithm>
#include <vector>

#include "chance.hpp"

namespace simulated_gpu {
namespace {

std::int64_t number_of(const Clock& clock, int stream) {
  const auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

void join(Clock& clock, const Clock& other) {
  for (const auto& [stream, number] : other) {
    clock[stream] = std::max(clock[stream], number);
  }
}

}  // namespace

bool is_ordered(int stream, std::int64_t number, const Operation& later) {
  return number_of(later.before, stream) >= number;
}

int Streams::create() {
  queues_[++num_created_];
  return num_created_;
}

std::int64_t Streams::add(int stream, Queued queued) {
  auto& queue = queues_.at(stream);
  join(queue.known, host_);
  if (queued.awaited) join(queue.known, queued.awaited->before);
  queued.operation.stream = stream;
  queued.operation.number = ++queue.num_enqueued;
  queued.operation.before = queue.known;
  queue.known[stream] = queue.num_enqueued;
  queue.queued.push_back(std::move(queued));
  return queue.num_enqueued;
}

std::int64_t Streams::enqueue(int stream, std::string name, Run run) {
  Queued queued;
  queued.operation.name = std::move(name);
  queued.run = std::move(run);
  return add(stream, std::move(queued));
}

void Streams::wait(int stream, const Point& point) {
  Queued queued;
  queued.awaited = point;
  add(stream, std::move(queued));
}

Point Streams::end_of(int stream) const {
  const auto& queue = queues_.at(stream);
  return {stream, queue.num_enqueued, queue.known};
}

bool Streams::is_over(const Point& point) const {
  return queues_.at(point.stream).num_over >= point.number;
}

bool Streams::is_ready(const Queue& queue) const {
  if (queue.queued.empty()) return false;
  const auto& awaited = queue.queued.front().awaited;
  return !awaited || is_over(*awaited);
}

bool Streams::run_one() {
  std::vector<Queue*> ready;
  for (auto& [stream, queue] : queues_) {
    if (is_ready(queue)) ready.push_back(&queue);
  }
  if (ready.empty()) return false;
  auto& queue = *ready[draw(ready.size())];
  const auto next = std::move(queue.queued.front());
  queue.queued.pop_front();
  if (next.run) next.run(next.operation);
  ++queue.num_over;
  return true;
}

void Streams::run_some() {
  while (draw(2) != 0 && run_one()) {
  }
}

void Streams::run_until(const Point& point) {
  while (!is_over(point)) {
    if (!run_one()) misuse("the host waits for work that nothing will do");
  }
}

void Streams::run_all() {
  while (run_one()) {
  }
  for (const auto& [stream, queue] : queues_) host_knows(end_of(stream));
}

void Streams::host_knows(const Point& point) { join(host_, point.before); }

bool Streams::host_knows(int stream, std::int64_t number) const {
  return number_of(host_, stream) >= number;
}

}  // namespace simulated_gpu
