// SPDX-License-Identifier: Apache-2.0
#include "fibers.hpp"

#include <cuda_runtime.h>

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstring>
#include <numeric>
#include <vector>

#include "chance.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace simulated_gpu {
namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = 64 << 10;
constexpr unsigned kWarp = 32;

enum class State { ready, at_barrier, at_exchange, over };

// What a lane brings to the lanes of its mask, and then what it gets of them.
struct Offer {
  unsigned mask = 0;
  std::array<std::byte, 16> value{};
  std::size_t num_bytes = 0;
  int source = 0;  // whose value it wants; -1 for a vote
};

struct Thread {
  State state = State::ready;
  context::fiber fiber;
  const std::byte* stack_top = nullptr;
  Place place;
  bool is_in_kernel = false;
  Offer offer;
};

class Block {
 public:
  Block(const std::string& name, unsigned index, unsigned num_threads,
        const std::function<void()>& kernel);
  void run();

  bool has_current() const { return current_ != nullptr; }
  Thread& current() { return *current_; }
  // Returns when the scheduler has come back to this thread.
  void leave(State state) {
    current_->state = state;
    scheduler_ = std::move(scheduler_).resume();
  }

 private:
  void resume(Thread& thread);
  void make_ready(Thread& thread);
  bool open_barrier();
  void finish_exchange(const Thread& newcomer);
  void check_offer(const Thread& lane, const Offer& offer) const;
  std::string at(const Thread& thread) const;

  const std::string& name_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  Thread* current_ = nullptr;
  context::fiber scheduler_;
};

// Of this thread of the host: others read files meanwhile.
thread_local Block* block_of_now = nullptr;

context::pooled_fixedsize_stack& stacks() {
  static context::pooled_fixedsize_stack pool(kStackBytes);
  return pool;
}

Block::Block(const std::string& name, unsigned index, unsigned num_threads,
             const std::function<void()>& kernel)
    : name_(name), threads_(num_threads) {
  for (unsigned i = 0; i < num_threads; ++i) {
    auto& thread = threads_[i];
    thread.place = {index, static_cast<std::uint16_t>(i), 0};
    thread.fiber = context::fiber(std::allocator_arg, stacks(), [&](context::fiber&& back) {
      scheduler_ = std::move(back);
      thread.stack_top = static_cast<const std::byte*>(__builtin_frame_address(0));
      kernel();
      thread.state = State::over;
      return std::move(scheduler_);
    });
    ready_.push_back(&thread);
  }
}

std::string Block::at(const Thread& thread) const {
  return "thread " + std::to_string(thread.place.thread) + " of block " +
         std::to_string(thread.place.block) + " of " + name_ + " ";
}

void Block::resume(Thread& thread) {
  current_ = &thread;
  threadIdx = {thread.place.thread, 0, 0};
  thread.fiber = std::move(thread.fiber).resume();
  if (thread.state == State::ready) ready_.push_back(&thread);
  if (thread.state == State::at_exchange) finish_exchange(thread);
}

void Block::make_ready(Thread& thread) {
  thread.state = State::ready;
  ready_.push_back(&thread);
}

void Block::run() {
  do {
    while (!ready_.empty()) {
      std::swap(ready_[draw(ready_.size())], ready_.back());
      auto& next = *ready_.back();
      ready_.pop_back();
      resume(next);
    }
  } while (open_barrier());
}

// False when all threads are over.
bool Block::open_barrier() {
  for (const auto& thread : threads_) {
    if (thread.state == State::at_exchange) {
      misuse(at(thread) + "waits for lanes that never come");
    }
  }
  for (auto& thread : threads_) {
    ++thread.place.epoch;
    if (thread.state == State::at_barrier) make_ready(thread);
  }
  return !ready_.empty();
}

void Block::check_offer(const Thread& lane, const Offer& offer) const {
  if (lane.state == State::over) misuse(at(lane) + "is over, and others wait for it");
  if (lane.state != State::at_exchange) return;
  if (lane.offer.mask != offer.mask) misuse(at(lane) + "has another mask than lanes in it");
  if ((lane.offer.source < 0) != (offer.source < 0) || lane.offer.num_bytes != offer.num_bytes) {
    misuse(at(lane) + "makes another exchange than the lanes of its mask");
  }
}

// When all lanes of the mask have come, each gets what it wants.
void Block::finish_exchange(const Thread& newcomer) {
  const unsigned first = newcomer.place.thread / kWarp * kWarp;
  const Offer& offer = newcomer.offer;
  if ((offer.mask >> (newcomer.place.thread - first) & 1U) == 0) {
    misuse(at(newcomer) + "is not in its own mask");
  }
  bool all_are_here = true, all_agree = true;
  std::array<std::array<std::byte, 16>, kWarp> offered;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((offer.mask >> lane & 1U) == 0) continue;
    if (first + lane >= threads_.size()) misuse(at(newcomer) + "has a mask beyond its block");
    const auto& thread = threads_[first + lane];
    check_offer(thread, offer);
    offered[lane] = thread.offer.value;
    all_are_here = all_are_here && thread.state == State::at_exchange;
    all_agree = all_agree && thread.offer.value.front() != std::byte{0};
  }
  if (!all_are_here) return;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((offer.mask >> lane & 1U) == 0) continue;
    auto& thread = threads_[first + lane];
    const int source = thread.offer.source;
    if (source < 0) {
      thread.offer.value.front() = std::byte{all_agree};
    } else if ((offer.mask >> source & 1U) == 0) {
      misuse(at(thread) + "reads from a lane outside of its mask");
    } else {
      thread.offer.value = offered[static_cast<unsigned>(source)];
    }
    make_ready(thread);
  }
}

}  // namespace

void run_kernel(const std::string& name, const Grid& grid, const std::function<void()>& kernel) {
  gridDim = grid.blocks;
  blockDim = grid.threads;
  std::vector<unsigned> order(grid.blocks);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw(i)]);
  for (const unsigned index : order) {
    blockIdx = {index, 0, 0};
    Block block(name, index, grid.threads, kernel);
    block_of_now = &block;
    block.run();
    block_of_now = nullptr;
  }
}

const Place* running_thread() {
  if (block_of_now == nullptr || !block_of_now->has_current()) return nullptr;
  const auto& thread = block_of_now->current();
  return thread.is_in_kernel ? &thread.place : nullptr;
}

bool is_on_its_stack(const void* address) {
  const auto* const place = static_cast<const std::byte*>(address);
  const auto* const top = block_of_now->current().stack_top;
  return place <= top && place > top - kStackBytes;
}

void may_give_way() {
  if (draw(16) == 0) block_of_now->leave(State::ready);
}

void enter_kernel() { block_of_now->current().is_in_kernel = true; }
void leave_kernel() { block_of_now->current().is_in_kernel = false; }

OutsideOfKernel::OutsideOfKernel()
    : is_in_kernel_(block_of_now->current().is_in_kernel), before_(is_in_kernel_) {
  is_in_kernel_ = false;
}
OutsideOfKernel::~OutsideOfKernel() { is_in_kernel_ = before_; }

void sync_threads() {
  const OutsideOfKernel waiting;
  block_of_now->leave(State::at_barrier);
}

bool all_of_lanes(unsigned mask, bool predicate) {
  const OutsideOfKernel waiting;
  auto& offer = block_of_now->current().offer;
  offer = {mask, {std::byte{predicate}}, 1, -1};
  block_of_now->leave(State::at_exchange);
  return offer.value.front() != std::byte{0};
}

void shuffle(unsigned mask, void* value, std::size_t num_bytes, int source, int width) {
  const OutsideOfKernel waiting;
  auto& thread = block_of_now->current();
  const int lane = static_cast<int>(thread.place.thread % kWarp);
  thread.offer = {mask, {}, num_bytes, lane / width * width + source % width};
  std::memcpy(thread.offer.value.data(), value, num_bytes);
  block_of_now->leave(State::at_exchange);
  std::memcpy(value, thread.offer.value.data(), num_bytes);
}

}  // namespace simulated_gpu
