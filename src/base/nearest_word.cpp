// SPDX-License-Identifier: Apache-2.0
#include <tally/base/nearest_word.hpp>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <tally/base/format.hpp>

namespace tally {
namespace {

// The table of edit distances takes the product of both lengths, and the user may give any word.
constexpr std::size_t kMaxLetters = 64;

// Counts letters that are missing, too many, wrong, or swapped with their neighbour (optimal string
// alignment), row by row of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_up, up, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_up = std::exchange(up, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({up[j - 1] + (same ? 0 : 1), up[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// The form in which words are compared: without leading dashes, in lower case, with - for _.
std::string folded(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string result(word.substr(0, kMaxLetters));
  for (char& c : result) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

// The distance of folded words, in half letters: a word that begins a known one is nearer than any
// typing error.
std::size_t distance(std::string_view word, std::string_view name) {
  const std::size_t edits = edit_distance(word, name);
  const bool abbreviates = word.size() >= 2 && name.starts_with(word);
  return abbreviates ? std::min<std::size_t>(2 * edits, 1) : 2 * edits;
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  const std::string wanted = folded(word);
  const std::size_t edits = wanted.size() < 3 ? 0 : std::max<std::size_t>(1, wanted.size() / 4);
  std::size_t least = 2 * (edits + 1);  // too far
  std::optional<std::string> nearest;
  for (const std::string& name : known) {
    const std::size_t found = distance(wanted, folded(name));
    if (found >= least) continue;
    least = found;
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view otherwise, std::string_view prefix) {
  const auto nearest = nearest_word(word, known);
  return nearest ? format("Did you mean '{}{}'?", prefix, *nearest) : std::string(otherwise);
}

}  // namespace tally
