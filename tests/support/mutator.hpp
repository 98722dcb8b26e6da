// SPDX-License-Identifier: Apache-2.0
// Damages bytes in the ways that disks, networks and people do. Fixed seeds.
#pragma once

#include <random>
#include <string>

namespace tally {

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string damage(std::string text) {
    const auto num_changes = 1 + random_() % 4;
    for (std::size_t i = 0; i < num_changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    const auto at = random_() % text.size();
    switch (random_() % 5) {
      case 0:
        text[at] = static_cast<char>(random_());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << (random_() % 8)));
        break;
      case 2:
        text.erase(at, 1 + random_() % 16);
        break;
      case 3:
        text.insert(at, text.substr(random_() % text.size(), random_() % 32));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937 random_;
};

}  // namespace tally
