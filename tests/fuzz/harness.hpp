// SPDX-License-Identifier: Apache-2.0
// What the fuzz tests of all parsers share. A parser's test is LLVMFuzzerTestOneInput() in
// <parser>_fuzzer.cpp: any bytes are read, or refused by an error that the parser's header names.
// The same sources are linked with libFuzzer (the preset `fuzz`), and with seeded_mutants.cpp.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/printable.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tally::fuzz {

// Of all inputs so far: read by seeded_mutants.cpp.
inline std::int64_t num_refused = 0;
inline std::string last_refusal;

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

inline void require(bool holds, const char* what) {
  if (!holds) fail(std::string("not so: ") + what);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// False where the bytes are refused: by an Error of one of these kinds, whose message is one line.
// Any other exception ends the process.
template <class Parse>
bool is_read(std::initializer_list<ErrorKind> kinds, const Parse& parse) {
  try {
    parse();
    return true;
  } catch (const Error& error) {
    if (std::ranges::find(kinds, error.kind()) == kinds.end()) {
      fail("exit code " + std::to_string(exit_code(error.kind())) + ", " + error.what());
    }
    last_refusal = error.what();
    if (printable(last_refusal) != last_refusal) fail("no line: " + last_refusal);
    return false;
  }
}

// The same, counted; what libFuzzer wants to be returned.
template <class Parse>
int read_or_refuse(std::initializer_list<ErrorKind> kinds, const Parse& parse) {
  if (!is_read(kinds, parse)) ++num_refused;
  return 0;
}

// A file in the current folder, which is one of the test's own. Not by truncating it first, after
// which some file systems wait for the disk.
inline void write_input(const char* path, std::string_view bytes) {
  const UniqueDescriptor file(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  const auto view = std::as_bytes(std::span(bytes));
  if (!file || !write_at(file.get(), 0, view).empty() ||
      ::ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0) {
    fail(std::string("cannot write ") + path);
  }
}

}  // namespace tally::fuzz
