// SPDX-License-Identifier: Apache-2.0
// Owns one C handle (file, data set, communicator, stream …), and closes it exactly once.
#pragma once

#include <utility>

namespace tally {

// Traits: `using Handle = …; static Handle invalid() noexcept; static void close(Handle) noexcept;`
template <class Traits>
class UniqueHandle {
 public:
  using Handle = typename Traits::Handle;

  UniqueHandle() noexcept : handle_(Traits::invalid()) {}
  explicit UniqueHandle(Handle handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : UniqueHandle() { swap(other); }
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    UniqueHandle taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~UniqueHandle() {
    if (*this) Traits::close(handle_);
  }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Traits::invalid(); }
  // Gives up ownership, for calls whose result must be checked on closing.
  Handle release() noexcept { return std::exchange(handle_, Traits::invalid()); }

 private:
  void swap(UniqueHandle& other) noexcept { std::swap(handle_, other.handle_); }

  Handle handle_;
};

}  // namespace tally
