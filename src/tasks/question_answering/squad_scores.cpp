// SPDX-License-Identifier: Apache-2.0
#include "question_answering/squad_scores.hpp"

#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <new>

namespace tally::tasks {
namespace {

using Characters = std::u32string;
using Tokens = std::vector<std::string>;

// Bytes that are not UTF-8 become U+FFFD, one at least, so that the loop always goes on.
Characters decoded(std::string_view text) {
  Characters characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    ucs4_t character = 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const int length = u8_mbtouc(&character, bytes, text.size());
    characters.push_back(character);
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return characters;
}

void append_encoded(std::string& text, char32_t character) {
  constexpr int kLongest = 6;  // as the library has it
  std::array<std::uint8_t, kLongest> bytes{};
  const int length = u8_uctomb(bytes.data(), character, kLongest);
  text.append(bytes.begin(), bytes.begin() + length);
}

constexpr char32_t kSigma = U'\u03A3';
constexpr char32_t kSmallSigma = U'\u03C3';
constexpr char32_t kFinalSigma = U'\u03C2';

// Returns whether the first character that counts for case is a cased one.
template <class Iterator>
bool begins_cased(Iterator first, Iterator last) {
  const auto found = std::find_if_not(first, last, uc_is_property_case_ignorable);
  return found != last && uc_is_property_cased(*found);
}

// Python decides which sigmas end a word by Unicode's rule to the letter; libunistring 1.0 does not
// beside an apostrophe or a character that is both cased and ignorable.
void lower_sigmas(Characters& text) {
  for (auto at = text.begin(); at != text.end(); ++at) {
    if (*at != kSigma) continue;
    const bool ends_word = begins_cased(std::make_reverse_iterator(at), text.rend()) &&
                           !begins_cased(at + 1, text.end());
    *at = ends_word ? kFinalSigma : kSmallSigma;
  }
}

// One character may become several, so that the whole text is converted at once.
Characters lower_case(Characters text) {
  lower_sigmas(text);
  const std::vector<std::uint32_t> given(text.begin(), text.end());
  std::size_t length = 0;
  const std::unique_ptr<std::uint32_t, decltype(&std::free)> lower(
      u32_tolower(given.data(), given.size(), nullptr, nullptr, nullptr, &length), &std::free);
  if (!lower) throw std::bad_alloc();
  return {lower.get(), lower.get() + length};
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
         (c >= U'{' && c <= U'~');
}

// Returns whether a word may contain the character for Python's re, whose "\b" bounds articles in
// the official scorers. '_' would be one, but it has gone with the punctuation.
bool is_word_character(char32_t c) {
  return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_N);
}

// White space is what Python's str.split() splits at: that of Unicode, and the four separators of
// ASCII.
bool is_blank(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

// Puts a blank in place of each article, where a word reaches from its first letter or digit to its
// last.
Characters without_articles(std::u32string_view text) {
  Characters kept;
  while (!text.empty()) {
    const auto word_end = std::ranges::find_if_not(text, is_word_character);
    const auto word = text.substr(0, static_cast<std::size_t>(word_end - text.begin()));
    if (is_article(word)) {
      kept.push_back(U' ');
    } else {
      kept.append(word);
    }
    text.remove_prefix(word.size());
    if (text.empty()) break;
    kept.push_back(text.front());
    text.remove_prefix(1);
  }
  return kept;
}

// Returns how many tokens the two have in common, each as often as both have it.
std::int64_t num_common(const Tokens& a, const Tokens& b) {
  std::map<std::string_view, std::int64_t> of_a;
  for (const auto& token : a) ++of_a[token];
  return std::ranges::count_if(b, [&](const std::string& token) {
    const auto found = of_a.find(token);
    return found != of_a.end() && found->second-- > 0;
  });
}

// The order of operations is that of the official scorers, so that the result is the same double.
double f1_of(const Tokens& prediction, const Tokens& gold, AnswerRules rules) {
  if (rules == AnswerRules::squad_v2 && (prediction.empty() || gold.empty())) {
    return prediction == gold ? 1 : 0;
  }
  const auto common = static_cast<double>(num_common(prediction, gold));
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(prediction.size());
  const double recall = common / static_cast<double>(gold.size());
  return 2 * precision * recall / (precision + recall);
}

AnswerScore score_of(const Tokens& prediction, const Tokens& gold, AnswerRules rules) {
  return {.exact = prediction == gold, .f1 = f1_of(prediction, gold, rules)};
}

}  // namespace

Tokens answer_tokens(std::string_view text) {
  // The order of the steps matters, and is that of normalize_answer() in the official scorers:
  // case, punctuation, articles, white space.
  Characters characters = lower_case(decoded(text));
  std::erase_if(characters, is_ascii_punctuation);
  Tokens tokens;
  bool in_token = false;
  for (const char32_t character : without_articles(characters)) {
    const bool blank = is_blank(character);
    if (!blank && !in_token) tokens.emplace_back();
    if (!blank) append_encoded(tokens.back(), character);
    in_token = !blank;
  }
  return tokens;
}

AnswerScore score_against(std::string_view prediction, std::string_view gold, AnswerRules rules) {
  return score_of(answer_tokens(prediction), answer_tokens(gold), rules);
}

AnswerScore score_answer(std::string_view prediction, std::span<const std::string> golds,
                         AnswerRules rules) {
  std::vector<Tokens> of_golds;
  for (const auto& gold : golds) of_golds.push_back(answer_tokens(gold));
  if (rules == AnswerRules::squad_v2) {
    std::erase_if(of_golds, [](const Tokens& tokens) { return tokens.empty(); });
    if (of_golds.empty()) of_golds.emplace_back();  // the answer is that there is none
  }
  const Tokens predicted = answer_tokens(prediction);
  // The best F1 and the exact match may come from different golds, as in the official scorers.
  AnswerScore best;
  for (const Tokens& gold : of_golds) {
    const AnswerScore score = score_of(predicted, gold, rules);
    best.exact = best.exact || score.exact;
    best.f1 = std::max(best.f1, score.f1);
  }
  return best;
}

}  // namespace tally::tasks
