// SPDX-License-Identifier: Apache-2.0
#include "question_file.hpp"

#include <tally/base/checked_cast.hpp>

#include "file_columns.hpp"

namespace tally::data {
namespace {

void write_root(hid_t file, const QuestionFile& questions) {
  const std::int64_t schema = 1, no_answer = questions.no_answer ? 1 : 0;
  raw::attribute(file, "/", "tally_schema", H5T_STD_I64LE, {}, &schema);
  raw::text(file, "/", "task", "question-answering");
  raw::attribute(file, "/", "no_answer", H5T_STD_I64LE, {}, &no_answer);
}

void write_inputs(hid_t file, const FileColumns& columns, const QuestionFile& questions) {
  std::vector<std::uint8_t> mask, types;
  for (const Window& window : questions.windows) {
    for (std::int64_t place = 0; place < questions.tokens_of_row; ++place) {
      mask.push_back(place < window.length ? 1 : 0);
      types.push_back(place >= window.context_begin && place < window.length ? 1 : 0);
    }
  }
  const raw::Dims row{static_cast<hsize_t>(questions.tokens_of_row)};
  columns.put("/inputs/input_ids", H5T_STD_I32LE, questions.input_ids(), row);
  columns.put("/inputs/attention_mask", H5T_STD_U8LE, mask, row);
  columns.put("/inputs/token_type_ids", H5T_STD_U8LE, types, row);
  const std::int64_t zero = 0;
  raw::attribute(file, "/inputs/input_ids", "padding", H5T_STD_I64LE, {}, &questions.padding);
  raw::attribute(file, "/inputs/attention_mask", "padding", H5T_STD_I64LE, {}, &zero);
  raw::attribute(file, "/inputs/token_type_ids", "padding", H5T_STD_I64LE, {}, &zero);
}

void write_paragraphs(const FileColumns& columns, const QuestionFile& questions) {
  std::vector<std::array<std::int32_t, 2>> tokens;
  std::vector<std::int64_t> offsets{0};
  for (const std::string& context : questions.contexts) {
    const auto more = QuestionFile::tokens(context);
    tokens.insert(tokens.end(), more.begin(), more.end());
    offsets.push_back(std::ssize(tokens));
  }
  columns.put_texts("/paragraphs/text", questions.contexts);
  columns.put("/paragraphs/tokens/offsets", H5T_STD_I64LE, offsets);
  columns.put("/paragraphs/tokens/values", H5T_STD_I32LE, tokens, {2});
}

}  // namespace

std::vector<std::int32_t> QuestionFile::input_ids() const {
  std::vector<std::int32_t> rows;
  std::int32_t next = 1;
  for (const Window& window : windows) {
    for (std::int64_t place = 0; place < tokens_of_row; ++place, ++next) {
      rows.push_back(place < window.length ? next : static_cast<std::int32_t>(padding));
    }
  }
  return rows;
}

std::vector<std::array<std::int32_t, 2>> QuestionFile::tokens(const std::string& context) {
  std::vector<std::array<std::int32_t, 2>> tokens;
  for (std::size_t begin = 0; begin < context.size();) {
    const std::size_t end = std::min(context.find(' ', begin), context.size());
    tokens.push_back({checked_cast<std::int32_t>(begin), checked_cast<std::int32_t>(end)});
    begin = end + 1;
  }
  return tokens;
}

void QuestionFile::write(const std::filesystem::path& path) const {
  raw::create(path, [&](hid_t file) {
    const FileColumns columns(file, rows_per_block);
    write_root(file, *this);
    write_inputs(file, columns, *this);
    columns.put_each("/lengths", H5T_STD_I32LE, windows, &Window::length);
    columns.put_each("/targets/unit", H5T_STD_I64LE, windows, &Window::unit);
    columns.put_each("/targets/context_begin", H5T_STD_I32LE, windows, &Window::context_begin);
    columns.put_each("/targets/context_end", H5T_STD_I32LE, windows, &Window::context_end);
    columns.put_each("/targets/token_begin", H5T_STD_I32LE, windows, &Window::token_begin);
    columns.put_texts("/units/id", ids);
    columns.put_texts("/units/question", questions);
    columns.put("/units/paragraph", H5T_STD_I64LE, paragraphs);
    columns.put("/units/first_answer", H5T_STD_I64LE, first_answers);
    columns.put_texts("/answers/text", answers);
    write_paragraphs(columns, *this);
  });
}

QuestionFile questions_of_lengths(const std::vector<std::int32_t>& lengths,
                                  std::int64_t tokens_of_row) {
  QuestionFile file;
  const std::size_t count = lengths.size();
  file.windows.clear();
  for (const std::int32_t length : lengths) {
    file.windows.push_back({std::ssize(file.windows), 0, length, 0, length});
  }
  file.ids.assign(count, "id");
  file.questions.assign(count, "?");
  file.paragraphs.assign(count, 0);
  file.first_answers.assign(count + 1, 0);
  file.answers.clear();
  file.tokens_of_row = tokens_of_row;
  return file;
}

}  // namespace tally::data
