// SPDX-License-Identifier: Apache-2.0
// In the build of preset 'coverage', writes what has been counted before a process ends itself by
// other means than exit(), which would lose it: probes, handlers of signals, tests that die. The
// linker puts these functions in the places of those that they are named after.
extern "C" {
void __gcov_dump();
void __gcov_reset();

[[noreturn]] void __real__exit(int code);
[[noreturn]] void __real__Exit(int code);
[[noreturn]] void __real_abort();
int __real_raise(int signal_number);

[[noreturn]] void __wrap__exit(int code) {
  __gcov_dump();
  __real__exit(code);
}

[[noreturn]] void __wrap__Exit(int code) {
  __gcov_dump();
  __real__Exit(code);
}

[[noreturn]] void __wrap_abort() {
  __gcov_dump();
  __real_abort();
}

// The process may go on, and count anew.
int __wrap_raise(int signal_number) {
  __gcov_dump();
  __gcov_reset();
  return __real_raise(signal_number);
}
}
