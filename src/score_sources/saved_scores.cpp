// SPDX-License-Identifier: Apache-2.0
#include "saved_scores.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/saved_rows.hpp>

namespace tally::app {
namespace {

constexpr const char* kWhat = "predictions file";

constexpr const char* kPredicted = "prediction";

// Names the --save value, or what else would give the column.
std::string next_step(const hdf5::Reader& file, const std::string& wanted, std::string_view task) {
  if (is_task(root_text(file, "task"), TaskKind::predict))
    return "It is of --task predict: evaluate without that.";
  if (wanted == "id")
    return format("Evaluate with --task {}.", task_name(TaskKind::question_answering));
  if (is_task(task, TaskKind::segmentation)) return "Evaluate with --save labels,masks.";
  return wanted == kPredicted ? "Evaluate with --save labels, of maps with --save labels,masks."
                              : format("Evaluate with --save {}.", wanted);
}

}  // namespace

void refuse_column(const hdf5::Reader& file, const std::vector<std::string>& wanted,
                   std::string_view task) {
  const auto last = wanted.end() - 1;
  throw Error(
      ErrorKind::dataset,
      format("{} '{}' has no column {}{}{} to score for {}", kWhat, file.path().string(),
             fmt::join(wanted.begin(), last, ", "), wanted.size() > 1 ? " or " : "", *last, task),
      next_step(file, wanted.front(), task));
}

namespace {

// Accepts the types that a model may return, too. Throws Error(dataset) for others.
void require_type(const hdf5::Reader& file, const std::string& column) {
  using hdf5::Element;
  const Element element = file.dataset("/" + column).info().element;
  constexpr std::array kNone{Element::u16, Element::u32, Element::u64, Element::text};
  if (std::ranges::find(kNone, element) == kNone.end()) return;
  throw Error(ErrorKind::dataset, format("{} '{}', /{} is of {}, which is nothing to score", kWhat,
                                         file.path().string(), column, hdf5::name(element)));
}

// Error(usage) where --outputs says of scores that they are classes.
void check_asked(std::string_view task, const std::string& outputs) {
  if (outputs != "classes" || task_traits(task).is_scored_of_classes) return;
  throw Error(
      ErrorKind::usage,
      format("--outputs classes is for the tasks binary, multiclass and multilabel, this is "
             "{}",
             task),
      "Leave --outputs out.");
}

// Numbers with fractions may be scores, which nobody named as such.
void require_integers(const hdf5::Reader& file, const std::string& column) {
  using hdf5::Element;
  const Element element = file.dataset("/" + column).info().element;
  constexpr std::array kClasses{Element::u8, Element::i16, Element::i32, Element::i64};
  if (std::ranges::find(kClasses, element) != kClasses.end()) return;
  throw Error(ErrorKind::dataset,
              format("{} '{}', /{} is of {}, expected classes as int64 or uint8", kWhat,
                     file.path().string(), column, hdf5::name(element)),
              "Save values.astype(numpy.int64); scores belong into 'logits' or 'probabilities'.");
}

metrics::OutputKind kind_of(const std::string& column, std::string_view task,
                            const std::string& asked, const std::string& stored,
                            const std::string& path) {
  if (column == kPredicted && task_traits(task).is_scored_of_classes)
    return metrics::OutputKind::classes;
  if (column == "probabilities" || column == "score") return metrics::OutputKind::probabilities;
  const std::string& word = asked.empty() ? stored : asked;
  // A model that returns probabilities has no logits: whatever is not in the column `probabilities`
  // is read as logits, also where the file says that only classes are scored of it.
  const bool is_of_others = word == "probabilities" || word == "classes";
  if (word.empty() || is_of_others) return metrics::OutputKind::logits;
  try {
    return metrics::output_kind_from_name(word);
  } catch (const Error& error) {
    // A wrong word in --outputs is an error of usage and passes; one in the file means a damaged
    // file.
    if (!asked.empty()) throw;
    throw Error(ErrorKind::dataset,
                format("{} '{}', attribute outputs: {}", kWhat, path, printable(error.what())));
  }
}

}  // namespace

std::string root_text(const hdf5::Reader& file, std::string_view name) {
  return file.has_attribute("/", name) ? file.string_attribute("/", name) : std::string();
}

// A model that returns probabilities has no logits; regression and segmentation have no scores but
// what is predicted. The classes that are predicted come last: they tell less than any scores.
std::vector<std::string> columns_for(std::string_view task, const std::string& outputs) {
  if (is_task(task, TaskKind::regression) || is_task(task, TaskKind::segmentation))
    return {kPredicted};
  if (outputs == "classes") return {kPredicted};
  std::vector<std::string> columns;
  if (outputs != "probabilities") columns.emplace_back("logits");
  if (outputs.empty() || outputs == "probabilities") {
    columns.emplace_back("probabilities");
    // The probability of class 1, which --save labels gives.
    if (is_task(task, TaskKind::binary)) columns.emplace_back("score");
  }
  if (outputs.empty() && task_traits(task).is_scored_of_classes) columns.emplace_back(kPredicted);
  return columns;
}

std::string other_data_note(const std::string& other) {
  return format(
      "these predictions were made of another data set, '{}': rows are taken to be the same",
      other);
}

SavedScores find_scores(const std::string& path, std::string_view task, const std::string& outputs,
                        const std::string& data_identity) {
  const hdf5::Reader file = predictions::open_predictions(path);
  check_asked(task, outputs);
  const auto wanted = columns_for(task, outputs);
  const auto found = std::ranges::find_if(
      wanted, [&](const std::string& name) { return file.exists("/" + name); });
  if (found == wanted.end()) refuse_column(file, wanted, task);
  require_type(file, *found);
  if (root_text(file, "classes_by") == "name") {
    throw Error(ErrorKind::dataset,
                format("{} '{}' has the model's classes, by which --classes-by name numbered the "
                       "labels, not the data set's",
                       kWhat, file.path().string()),
                "Evaluate the model again, with the metrics that are wanted.");
  }
  // Beforehand: g++ 12 destroys the part of a braced list that it has made twice where a later one
  // throws.
  const auto kind = kind_of(*found, task, outputs, root_text(file, "outputs"), path);
  if (kind == metrics::OutputKind::classes) require_integers(file, *found);
  SavedScores scores{data::hdf5_rows(path, "/" + *found), kind, {}};
  const std::string predicted = root_text(file, "data_identity");
  // Nothing is compared where the file does not name its data set.
  if (!predicted.empty() && predicted != data_identity) {
    scores.notes.push_back(other_data_note(root_text(file, "data")));
  }
  return scores;
}

report::InputFile describe_input(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorKind::dataset, format("{} '{}' cannot be read (it is a folder)", kWhat, path),
                "Name the predictions.h5 of a result that was made with --save, or a file of "
                "predictions.");
  }
  const OpenedFile file = open_regular_file(path, ErrorKind::dataset, kWhat);
  digest::Sha256 hash;
  std::int64_t size = 0;
  // The file may be larger than memory. It is read to its end, which files of the kernel's do not
  // announce.
  std::vector<std::byte> piece(1 << 20);
  while (const ssize_t got = ::read(file.descriptor.get(), piece.data(), piece.size())) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorKind::dataset,
                  format("{} '{}' cannot be read to its end ({})", kWhat, path, errno_text(errno)),
                  "Check the file system.");
    }
    hash.update(std::span(piece).first(to_size(got)));
    size += got;
  }
  return {path, size, hash.hex()};
}

}  // namespace tally::app
