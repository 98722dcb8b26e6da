// SPDX-License-Identifier: Apache-2.0
// Makes the task of a run from its settings, its data set and what its model says of itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/config/run_options.hpp>
#include <tally/data/data_set.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/model/card.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// --task, else the task of the data set. Throws Error(usage) for one that does not fit the data.
std::string task_in_force(const std::string& asked, const data::DataSetInfo& info);

// Collective. What the data set has of several right classes, if the task scores them; null where
// it has none. Throws comm::AgreedFailure, on a GPU also usage: there labels are one class each.
tasks::RightClasses right_classes_of(const comm::Communicator& comm,
                                     const EvaluationSession& session, const std::string& task,
                                     Notes& notes);

// MPI sends rows whole, and counts their bytes in int. Throws Error(dataset) naming a column whose
// rows are larger.
void check_row_sizes(const std::vector<predictions::ColumnSpec>& columns);

// Collective. The task, without its subgroups and the number of its units. `outputs`: what saved
// scores say that they are. Throws comm::AgreedFailure for metrics and options that the task does
// not have, and for class weights that cannot be read.
Scoring make_scoring(const comm::Communicator& comm, const config::RunConfig& config,
                     std::string task_name, const data::DataSetInfo& info,
                     std::optional<metrics::OutputKind> outputs,
                     const std::optional<model::ModelCard>& card,
                     tasks::RightClasses right_classes = {});

}  // namespace tally::app
