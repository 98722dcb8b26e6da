// SPDX-License-Identifier: Apache-2.0
// Small valid data sets of language models, multiple choice and token classification to read, and
// to break.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/data/data_set.hpp>

#include "raw_hdf5.hpp"

namespace tally::data {

// A window, a choice or a sentence, which is a unit of its own.
struct TokenRecord {
  std::int64_t unit = 0;
  std::vector<std::int64_t> labels;  // of the places that are not padding
  std::int32_t choice = 0;
};

struct TokenFile {
  std::string task;
  std::vector<TokenRecord> rows;
  std::vector<std::string> ids = {};
  // language-model
  std::vector<std::int64_t> bytes = {}, words = {};
  // multiple-choice
  std::vector<std::string> questions = {}, choices = {};
  std::vector<std::int64_t> gold = {}, first_choice = {};
  // token-classification
  std::vector<std::string> class_names = {};

  std::int64_t num_tokens = 10;  // of the vocabulary; of a token classification: classes
  std::int64_t ignore_index = -100;
  std::int64_t places = 6;           // of a row
  hid_t label_type = H5T_STD_I64LE;  // or H5T_STD_I32LE
  bool is_padded = true;             // else the file has neither paddings nor lengths
  std::int64_t rows_per_block = 0;   // 0: no checksum tables

  std::int64_t num_samples() const { return std::ssize(rows); }
  std::vector<std::int64_t> labels() const;  // [N, places]
  // The file must not exist.
  void write(const std::filesystem::path& path) const;
};

// Three documents, of two windows, of one, and one without tokens.
TokenFile document_file();
// Two questions, of three choices and of two.
TokenFile choice_file();
// Three sentences, of which one has no token that is scored; three classes with names.
TokenFile tag_file();

}  // namespace tally::data
