// SPDX-License-Identifier: Apache-2.0
#include "match_classes.hpp"

#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>
#include <tally/evaluate/class_names_check.hpp>

namespace tally::app {
namespace {

void compare_names(const EvaluationSession& session, const std::vector<std::string>& of_model,
                   Notes& notes) {
  const auto& info = session.data.set->info();
  const auto check = evaluate::compare_class_names(of_model, info.class_names);
  if (check.result == evaluate::ClassNames::reordered) {
    throw Error(
        ErrorKind::model,
        format("model '{}' and data set '{}': {}", printable(session.config.files.model),
               printable(info.path.string()), check.text),
        is_task(info.task, TaskKind::detection)
            ? "Prepare the data in the model's order; --classes-by index goes by the numbers."
            : "--classes-by name goes by the names, --classes-by index by the numbers.");
  }
  if (!check.text.empty()) notes.add(check.text + "; labels count by their numbers");
}

}  // namespace

void match_classes(const comm::Communicator& comm, EvaluationSession& session, Notes& notes) {
  const std::string& by = session.config.scoring.classes_by;
  // Nothing is scored then, so that no label is looked at.
  const bool is_predict = is_task(session.config.scoring.task, TaskKind::predict) ||
                          is_task(session.data.set->info().task, TaskKind::predict);
  if (by == "index" || (by == "auto" && is_predict)) return;
  comm::agree_on(comm, [&] {
    if (is_predict) {
      throw Error(ErrorKind::usage,
                  "--classes-by name gives labels numbers, and --task predict has none",
                  "Leave --classes-by out.");
    }
    const auto& card = session.model.predictor->card();
    const auto of_model = card ? card->class_names : std::vector<std::string>();
    if (by == "auto") return compare_names(session, of_model, notes);
    auto& set = *session.data.set;
    set.renumber_classes(evaluate::classes_by_name(of_model, set.info().class_names), of_model);
  });
}

}  // namespace tally::app
