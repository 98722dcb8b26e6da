// SPDX-License-Identifier: Apache-2.0
#include "array_scores.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/metrics/decided_classes.hpp>

#include "array_file.hpp"
#include "array_rows.hpp"
#include "npy_header.hpp"

namespace tally::app {
namespace {

constexpr std::string_view kClassesWord = "classes", kValuesWord = "values";
constexpr std::array<std::string_view, 3> kScoreWords{"logits", "log-probabilities",
                                                      "probabilities"};
constexpr std::array<std::string_view, 1> kOfRegression{kValuesWord};
constexpr std::array<std::string_view, 4> kOfClasses{"logits", "log-probabilities", "probabilities",
                                                     kClassesWord};

std::span<const std::string_view> words_of(std::string_view task) {
  if (is_task(task, TaskKind::regression)) return kOfRegression;
  if (is_task(task, TaskKind::segmentation) || task_traits(task).is_scored_of_classes)
    return kOfClasses;
  return kScoreWords;
}

bool is_csv_name(const std::string& path) {
  constexpr std::string_view kEnd = ".csv";
  if (path.size() < kEnd.size()) return false;
  return std::ranges::equal(path.substr(path.size() - kEnd.size()), kEnd, {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
}

// An array does not say what its numbers are, and that is never guessed.
void check_outputs(const std::string& path, std::string_view task, const std::string& asked) {
  const std::string words = format("{}", fmt::join(words_of(task), ", "));
  if (asked.empty()) {
    throw Error(ErrorKind::usage,
                format("predictions file '{}' does not say what its numbers are", printable(path)),
                format("Say it: --outputs {}.", words));
  }
  if (std::ranges::find(words_of(task), asked) != words_of(task).end()) return;
  throw Error(ErrorKind::usage,
              format("--outputs {}: saved predictions for {} are {}", asked, task, words));
}

// The scorers take scores in float32 alone, and nothing is rounded here. Masks are classes, and
// maps of a number for each class are scores.
void check_rows(const data::RowSource& rows, std::string_view task, const std::string& asked) {
  const data::ColumnInfo& column = rows.column();
  const bool are_classes = asked == kClassesWord;
  const bool fits =
      are_classes ? metrics::are_decided_classes(column.dtype) : column.dtype == DType::f32;
  if (!fits) {
    throw Error(
        ErrorKind::dataset,
        format("predictions file {} holds {}, expected {} of --outputs {}", rows.place(),
               name(column.dtype), are_classes ? "uint8, int16, int32 or int64" : "float32", asked),
        format("Save values.astype(numpy.{}).", are_classes ? "int64" : "float32"));
  }
  const std::size_t dimensions = are_classes ? 2 : 3;
  if (!is_task(task, TaskKind::segmentation) || column.row_shape.size() == dimensions) return;
  throw Error(ErrorKind::dataset,
              format("predictions file {} has rows of shape {}, expected {} of --outputs {}",
                     rows.place(), to_string(column.row_shape),
                     are_classes ? "[height, width]" : "[classes, height, width]", asked),
              "Save an array of that shape, or name what these numbers are: --outputs.");
}

}  // namespace

ArrayForm array_form(const std::string& path) {
  if (hdf5::is_hdf5_file(path)) return ArrayForm::none;
  const ArrayFile file(path);
  if (path.ends_with(".npy") ||
      has_npy_signature(file.read_text(0, std::min<std::int64_t>(file.bytes(), 8)))) {
    return ArrayForm::npy;
  }
  return is_csv_name(path) ? ArrayForm::csv : ArrayForm::none;
}

SavedScores array_scores(const std::string& path, ArrayForm form, const std::string& asked,
                         const data::DataSetInfo& info, std::string_view task) {
  check_outputs(path, task, asked);
  const std::string column = columns_for(task, asked).front();
  SavedScores scores;
  if (form == ArrayForm::npy) {
    scores.rows = npy_rows(path, column);
  } else if (is_task(task, TaskKind::segmentation)) {
    throw Error(ErrorKind::dataset,
                format("predictions file '{}' is CSV, which has no masks", printable(path)),
                "Save them as .npy.");
  } else {
    scores.rows = csv_rows(path, column, info.class_names,
                           asked == kClassesWord ? CsvCells::classes : CsvCells::numbers);
  }
  check_rows(*scores.rows, task, asked);
  const bool are_classes = asked == kClassesWord && task_traits(task).is_scored_of_classes;
  if (are_classes || std::ranges::find(kScoreWords, asked) != kScoreWords.end()) {
    scores.outputs = metrics::output_kind_from_name(asked);
  }
  return scores;
}

}  // namespace tally::app
