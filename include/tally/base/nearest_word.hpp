// SPDX-License-Identifier: Apache-2.0
// Finds the known word that was probably meant by an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

// The word of `known` nearest to `word`, of equally near ones the first; none if all differ in more
// than a quarter of its letters, of three to seven in more than one, of fewer in any. Compared
// without regard to case and to '-' or '_', by edit distance; the beginning of a known word, from
// two letters on, is near it. Leading dashes of `word` and what follows its 64th letter do not
// count.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

// "Did you mean '--batch-size'?", with `prefix` before the word nearest to `word`; else
// `otherwise`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view otherwise, std::string_view prefix = "");

}  // namespace tally
