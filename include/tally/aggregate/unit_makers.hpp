// SPDX-License-Identifier: Apache-2.0
// Lists which Maker of UnitAggregator makes the units of which kind of task: a row for each kind.
#pragma once

#include <tally/aggregate/document_units.hpp>
#include <tally/aggregate/multiple_choice_units.hpp>
#include <tally/aggregate/question_units.hpp>
#include <tally/tasks/capabilities.hpp>

namespace tally::app {

template <class Task>
struct UnitMakerOf;

template <>
struct UnitMakerOf<tasks::AnswerTask> {
  using Maker = Questions;
};
template <>
struct UnitMakerOf<tasks::LanguageModelTask> {
  using Maker = Documents;
};
template <>
struct UnitMakerOf<tasks::MultipleChoiceTask> {
  using Maker = MultipleChoiceUnits;
};

// Task: what a tasks::UnitTask points to.
template <class Task>
using UnitMaker = typename UnitMakerOf<Task>::Maker;

}  // namespace tally::app
