// SPDX-License-Identifier: Apache-2.0
// A parser with a mistake of each kind, by which test_seeded_mutants.py sees that all are found.
#include <csignal>
#include <stdexcept>
#include <vector>

#include "harness.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally;
  const auto text = fuzz::text_of(data, size);
  // Not the file of the corpus itself.
  const auto is = [&](const std::string& mistake) {
    return text.starts_with(mistake) && text != mistake + std::string(60, '.');
  };
  if (is("crash")) std::raise(SIGSEGV);
  if (is("hang")) ::pause();
  if (is("memory")) {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    std::vector<char> bytes(kBytes, 'x');
    fuzz::require(bytes[size] == 'x', "the memory was written");
  }
  return fuzz::read_or_refuse({ErrorKind::model}, [&] {
    if (is("exception")) throw std::runtime_error("an exception that nobody expects");
    if (is("kind")) throw Error(ErrorKind::internal, "a defect");
    if (is("lines")) throw Error(ErrorKind::model, "two\nlines");
    if (text.ends_with("bad")) throw Error(ErrorKind::model, "bad");
  });
}
