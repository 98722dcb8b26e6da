// SPDX-License-Identifier: Apache-2.0
// A small valid data set of question answering to read, and to break.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

// A row: where in it its context is, and which token of the paragraph that begins with.
struct Window {
  std::int64_t unit = 0;
  std::int32_t context_begin = 0, context_end = 0, token_begin = 0;
  std::int32_t length = 1;
};

struct QuestionFile {
  // One question of three windows, one without an answer, one without words.
  std::vector<Window> windows = {
      {0, 4, 8, 0, 9}, {0, 4, 8, 2, 9}, {0, 4, 7, 4, 8}, {1, 3, 10, 0, 11}, {2, 2, 4, 0, 5}};
  std::vector<std::string> ids = {"56be", "56bf", "Ω-3"};
  std::vector<std::string> questions = {"Where does Zoë live?", "With whom?", ""};
  std::vector<std::int64_t> paragraphs = {0, 0, 2};  // of each question
  std::vector<std::int64_t> first_answers = {0, 2, 2, 3};
  std::vector<std::string> answers = {"東京", "Tokyo", "Cats"};
  // Nobody asks about the second.
  std::vector<std::string> contexts = {"Zoë lives in 東京 since 1999 .", "Dogs bark", "Cats sleep"};
  std::int64_t tokens_of_row = 12;
  std::int64_t padding = 0;  // of input_ids
  bool no_answer = true;
  std::int64_t rows_per_block = 0;  // 0: no checksum tables

  std::int64_t num_samples() const { return std::ssize(windows); }
  // [N, tokens_of_row]: another number at every place but behind the end.
  std::vector<std::int32_t> input_ids() const;
  // Begin and end of each word of a context.
  static std::vector<std::array<std::int32_t, 2>> tokens(const std::string& context);
  // The file must not exist.
  void write(const std::filesystem::path& path) const;
};

// A question of one window for each length, all about one paragraph.
QuestionFile questions_of_lengths(const std::vector<std::int32_t>& lengths,
                                  std::int64_t tokens_of_row);

}  // namespace tally::data
