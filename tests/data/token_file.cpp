// SPDX-License-Identifier: Apache-2.0
#include "token_file.hpp"

#include <tally/base/checked_cast.hpp>

#include "file_columns.hpp"

namespace tally::data {
namespace {

void write_inputs(hid_t file, const FileColumns& columns, const TokenFile& tokens) {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> mask;
  std::vector<std::int32_t> lengths;
  for (const TokenRecord& row : tokens.rows) {
    lengths.push_back(checked_cast<std::int32_t>(row.labels.size()));
    for (std::int64_t place = 0; place < tokens.places; ++place) {
      const bool is_there = place < lengths.back();
      ids.push_back(is_there ? checked_cast<std::int32_t>(ids.size()) : 0);
      mask.push_back(is_there ? 1 : 0);
    }
  }
  const raw::Dims row{static_cast<hsize_t>(tokens.places)};
  columns.put("/inputs/input_ids", H5T_STD_I32LE, ids, row);
  columns.put("/inputs/attention_mask", H5T_STD_U8LE, mask, row);
  if (!tokens.is_padded) return;
  const std::int64_t zero = 0;
  raw::attribute(file, "/inputs/input_ids", "padding", H5T_STD_I64LE, {}, &zero);
  raw::attribute(file, "/inputs/attention_mask", "padding", H5T_STD_I64LE, {}, &zero);
  columns.put("/lengths", H5T_STD_I32LE, lengths);
}

void write_labels(const FileColumns& columns, const TokenFile& tokens) {
  const raw::Dims row{static_cast<hsize_t>(tokens.places)};
  const auto labels = tokens.labels();
  if (tokens.label_type == H5T_STD_I64LE) {
    return columns.put("/targets/label", tokens.label_type, labels, row);
  }
  columns.put("/targets/label", tokens.label_type,
              std::vector<std::int32_t>(labels.begin(), labels.end()), row);
}

void write_class_names(hid_t file, const std::vector<std::string>& class_names) {
  constexpr std::size_t kLength = 8;
  std::string names;
  for (std::string name : class_names) {
    name.resize(kLength);
    names += name;
  }
  const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
  raw::ok(H5Tset_size(type, kLength));
  raw::ok(H5Tset_strpad(type, H5T_STR_NULLPAD));
  raw::dataset(file, "/class_names", type, {class_names.size()}, names.data());
  raw::ok(H5Tclose(type));
}

}  // namespace

std::vector<std::int64_t> TokenFile::labels() const {
  std::vector<std::int64_t> all;
  for (const TokenRecord& row : rows) {
    all.insert(all.end(), row.labels.begin(), row.labels.end());
    all.resize(all.size() + to_size(places) - row.labels.size(), ignore_index);
  }
  return all;
}

void TokenFile::write(const std::filesystem::path& path) const {
  raw::create(path, [&](hid_t file) {
    const std::int64_t schema = 1;
    raw::attribute(file, "/", "tally_schema", H5T_STD_I64LE, {}, &schema);
    raw::attribute(file, "/", "num_classes", H5T_STD_I64LE, {}, &num_tokens);
    raw::attribute(file, "/", "ignore_index", H5T_STD_I64LE, {}, &ignore_index);
    raw::text(file, "/", "task", task);
    const FileColumns columns(file, rows_per_block);
    write_inputs(file, columns, *this);
    write_labels(columns, *this);
    if (!class_names.empty()) return write_class_names(file, class_names);
    columns.put_each("/targets/unit", H5T_STD_I64LE, rows, &TokenRecord::unit);
    columns.put_texts("/units/id", ids);
    if (task == "language-model") {
      columns.put("/units/bytes", H5T_STD_I64LE, bytes);
      columns.put("/units/words", H5T_STD_I64LE, words);
      return;
    }
    columns.put_each("/targets/choice", H5T_STD_I32LE, rows, &TokenRecord::choice);
    columns.put_texts("/units/question", questions);
    columns.put("/units/gold", H5T_STD_I64LE, gold);
    columns.put("/units/first_choice", H5T_STD_I64LE, first_choice);
    columns.put_texts("/choices/text", choices);
  });
}

TokenFile document_file() {
  return {.task = "language-model",
          .rows = {{0, {1, 2, 3, 4, 5, 6}}, {0, {-100, -100, 7, 9}}, {1, {0, 1}}, {2, {-100}}},
          .ids = {"a.txt", "Ω", ""},
          .bytes = {31, 4, 0},
          .words = {6, 1, 0}};
}

TokenFile choice_file() {
  return {.task = "multiple-choice",
          .rows = {{0, {-100, -100, 3}, 0},
                   {0, {-100, -100, 3, 4}, 1},
                   {0, {-100, -100, 5}, 2},
                   {1, {-100, 8}, 0},
                   {1, {-100, 9}, 1}},
          .ids = {"q1", "q2"},
          .questions = {"Who?", "東京?"},
          .choices = {"I", "you", "", "yes", "no"},
          .gold = {2, 0},
          .first_choice = {0, 3, 5}};
}

TokenFile tag_file() {
  return {.task = "token-classification",
          .rows = {{0, {-100, 1, 2, 0, -100}}, {0, {-100, -100}}, {0, {2, 0, 0, 0}}},
          .class_names = {"O", "B-PER", "I-PER"},
          .num_tokens = 3};
}

}  // namespace tally::data
