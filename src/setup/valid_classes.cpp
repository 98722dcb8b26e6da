// SPDX-License-Identifier: Apache-2.0
#include "valid_classes.hpp"

#include <algorithm>
#include <span>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/evaluate/class_names_check.hpp>

#include "class_weights_and_subgroups.hpp"

namespace tally::app {
namespace {

constexpr std::string_view kBlanks = " \t\r";

Error refused(const std::string& path, const std::string& why) {
  return {ErrorKind::usage, format("valid classes '{}' {}", printable(path), why),
          "The file has a line for each class that is scored: its number or its name."};
}

struct Line {
  std::int64_t number;  // in the file, from 1
  std::string text;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const auto first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) continue;
    const auto last = line.find_last_not_of(kBlanks);
    lines.push_back({number, std::string(line.substr(first, last - first + 1))});
  }
  return lines;
}

// A name that is a number, as the digits have, is taken as a name.
std::int64_t class_of(const Line& line, std::int64_t place, const std::string& path,
                      std::int64_t num_classes) {
  if (place >= 0) return place;
  const auto number = parse_number<std::int64_t>(line.text);
  if (number && *number >= 0 && *number < num_classes) return *number;
  throw refused(path, format("line {}: '{}' is not one of the {} classes", line.number,
                             printable(line.text.substr(0, 40)), num_classes));
}

// The other scores must not be part of what is left, or the rest would not add up to 1.
void check_scores(const EvaluationSession& session) {
  const auto& scoring = session.scoring;
  if (!is_task(scoring.task_name, TaskKind::multiclass)) {
    throw Error(ErrorKind::usage,
                format("--valid-classes is for the task multiclass, this is {}", scoring.task_name),
                "Leave --valid-classes out.");
  }
  if (scoring.outputs == metrics::OutputKind::classes) {
    throw Error(ErrorKind::usage,
                "--valid-classes needs scores: predicted classes alone do not tell which of the "
                "valid ones would be predicted",
                "Leave --valid-classes out, or save the logits.");
  }
  if (scoring.outputs != metrics::OutputKind::logits) {
    throw Error(
        ErrorKind::usage,
        format("--valid-classes needs logits, the model returns {}",
               metrics::name(scoring.outputs)),
        "Export the model without its last softmax; log-probabilities may be taken as logits "
        "with --outputs logits.");
  }
  if (session.config.scoring.label_smoothing > 0) {
    throw Error(ErrorKind::usage,
                "--valid-classes gives other classes the probability 0, --label-smoothing wants "
                "some of it for each",
                "Leave one of them out.");
  }
}

std::vector<std::int64_t> others_than(const std::vector<std::int64_t>& valid,
                                      std::int64_t num_classes) {
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < num_classes; ++i) {
    if (!std::ranges::binary_search(valid, i)) others.push_back(i);
  }
  return others;
}

}  // namespace

std::vector<std::int64_t> parse_valid_classes(const std::string& text, const std::string& path,
                                              std::int64_t num_classes,
                                              const std::vector<std::string>& class_names) {
  const auto lines = lines_of(text);
  std::vector<std::string> names;
  for (const Line& line : lines) names.push_back(line.text);
  const auto places = evaluate::places_of_names(names, class_names);
  std::vector<std::int64_t> classes;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    classes.push_back(class_of(lines[i], places[i], path, num_classes));
  }
  if (classes.empty()) throw refused(path, "name no class");
  std::ranges::sort(classes);
  const auto twice = std::ranges::adjacent_find(classes);
  if (twice != classes.end()) throw refused(path, format("name class {} twice", *twice));
  return classes;
}

void choose_valid_classes(const comm::Communicator& comm, EvaluationSession& session,
                          Notes& notes) {
  const auto& path = session.config.scoring.valid_classes;
  if (path.empty()) return;
  std::vector<std::byte> bytes;
  comm::agree_on(comm, [&] {
    check_scores(session);
    if (comm.is_root()) {
      bytes = read_file(path, ErrorKind::usage, "valid classes", kMaxClassesFileBytes);
    }
  });
  comm.broadcast(bytes);
  comm::agree_on(comm, [&] {
    const auto& info = session.data.set->info();
    const auto valid =
        parse_valid_classes(std::string(as_text(bytes)), path, info.num_classes, info.class_names);
    // The numbers are hashed, not the file: how they are written makes no difference.
    session.scoring.valid_classes_digest = digest::sha256_hex(std::as_bytes(std::span(valid)));
    session.scoring.excluded_classes = others_than(valid, info.num_classes);
    session.model.predictor->exclude_classes(session.scoring.excluded_classes);
    notes.add(format("{} of {} classes are valid: the scores of the others count as minus infinity",
                     valid.size(), info.num_classes));
  });
}

}  // namespace tally::app
