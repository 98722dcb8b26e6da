// SPDX-License-Identifier: Apache-2.0
// Enqueues work that a device does in order while the host goes on, and measures when it was done.
// On the CPU each call is done when it returns, so that code written for a stream is right on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tally/base/unique_handle.hpp>
#include <tally/device/device.hpp>

namespace tally::device {

struct StreamTraits {
  using Handle = void*;  // cudaStream_t
  static Handle invalid() noexcept { return nullptr; }
  static void close(Handle stream) noexcept;
};

struct EventTraits {
  using Handle = void*;  // cudaEvent_t
  static Handle invalid() noexcept { return nullptr; }
  static void close(Handle event) noexcept;
};

class Event;

// Errors of the device throw Error(environment) from whichever call comes upon them.
class Stream {
 public:
  explicit Stream(const Device& device);

  const Device& device() const { return device_; }
  // cudaStream_t for those who launch work themselves; null on the CPU.
  void* handle() const { return stream_.get(); }

  // The host memory is page-locked (HostBuffer) and stays as it is until the copy is done. On the
  // CPU nothing is copied where `from` and `to` are the same memory.
  void copy_to_device(std::byte* to, std::span<const std::byte> from) const;
  void copy_to_host(std::byte* to, std::span<const std::byte> from) const;
  void fill_zero(std::span<std::byte> bytes) const;
  // Later work of this stream, not the host, waits for the event.
  void wait_for(const Event& event) const;

  // Whether all work so far is done; does not wait.
  bool is_done() const;
  // The host waits until all work so far is done: never in a loop over batches.
  void synchronize() const;

 private:
  Device device_;
  UniqueHandle<StreamTraits> stream_;
};

enum class Timing { off, on };

// A point in a stream's work. Done until it is recorded. Timing::on: for a Timeline.
class Event {
 public:
  explicit Event(const Device& device, Timing timing = Timing::off);

  void record(const Stream& stream) const;
  bool is_done() const;
  // The host waits for this point; later work of the stream goes on meanwhile.
  void wait() const;
  void* handle() const { return event_.get(); }

 private:
  UniqueHandle<EventTraits> event_;
};

// When a GPU did something, on the host's clock.
class Timeline {
 public:
  // Of a stream on a GPU, for which the host waits here, and never again. Error(environment).
  explicit Timeline(const Stream& stream);

  // Nanoseconds of the steady clock. `event` is timed, of the same device, and has happened: nobody
  // waits. Good to a microsecond in the first seconds, to 0.1 ms after half an hour: CUDA gives
  // milliseconds as float.
  std::int64_t when_ns(const Event& event) const;

 private:
  Event start_;
  std::int64_t start_ns_;
};

// For the kernels of other rooms.

// To be called after each launch: throws Error(environment) naming the kernel if the GPU did not
// take it. Does not wait for it.
void check_launch(std::string_view kernel);

}  // namespace tally::device
