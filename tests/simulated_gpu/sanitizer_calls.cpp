// SPDX-License-Identifier: Apache-2.0
// What code that is compiled with -fsanitize=thread calls at each access: kernels are compiled so,
// and linked with these in the place of the sanitizer's own.
#include <cstddef>

#include "kernel_accesses.hpp"

using simulated_gpu::Access;
using simulated_gpu::touched_by_thread;

// NOLINTBEGIN: the compiler's names
#define TALLY_ACCESS(kind, access, size)                                                        \
  void __tsan_##kind##size(void* address) { touched_by_thread(address, size, Access::access); } \
  void __tsan_unaligned_##kind##size(void* address) {                                           \
    touched_by_thread(address, size, Access::access);                                           \
  }
#define TALLY_ACCESSES(size)     \
  TALLY_ACCESS(read, read, size) \
  TALLY_ACCESS(write, write, size)

extern "C" {
TALLY_ACCESSES(1)
TALLY_ACCESSES(2)
TALLY_ACCESSES(4)
TALLY_ACCESSES(8)
TALLY_ACCESSES(16)
void __tsan_read_range(void* address, std::size_t size) {
  touched_by_thread(address, size, Access::read);
}
void __tsan_write_range(void* address, std::size_t size) {
  touched_by_thread(address, size, Access::write);
}
// Of the host: what it shares pointers to.
int __tsan_atomic32_fetch_add(volatile int* address, int value, int) {
  return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_sub(volatile int* address, int value, int) {
  return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
// NOLINTEND
