// SPDX-License-Identifier: Apache-2.0
// Opens checkpoints one after the other, as rank 0 of the program does. Each line of standard input
// is a path, and behind a tab the key of the weights; each is answered by "opened" or by the line
// that the program would end with.
#include <exception>
#include <iostream>
#include <string>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/weights/checkpoint.hpp>

namespace {

std::string answer(const std::string& path, const std::string& key) {
  try {
    tally::weights::to_bytes(tally::weights::open_checkpoint(path, key));
    return "opened";
  } catch (const std::exception&) {
    return tally::comm::failure_line(tally::current_error(), 0, 1, "");
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    const std::string key = tab == std::string::npos ? "" : line.substr(tab + 1);
    std::cout << answer(line.substr(0, tab), key) << std::endl;
  }
}
