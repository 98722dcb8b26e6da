// SPDX-License-Identifier: Apache-2.0
// Reads which classes are scored, where a data set has some of the model's classes only:
// ImageNet-A, ImageNet-R and the like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/session.hpp>

namespace tally::app {

// The classes that `text` lists, a line each: numbers, or names among `class_names`, which may be
// empty. Ascending. Throws Error(usage) naming the line, `path` and what is wrong.
std::vector<std::int64_t> parse_valid_classes(const std::string& text, const std::string& path,
                                              std::int64_t num_classes,
                                              const std::vector<std::string>& class_names);

// Collective. Reads the file of --valid-classes, if there is one, and keeps the others of the data
// set's classes in the session, whose predictor leaves them out. Once classes are matched and the
// task is made. Throws comm::AgreedFailure(usage) for a file that cannot be read or is wrong, and
// for scores that leave no class out.
void choose_valid_classes(const comm::Communicator& comm, EvaluationSession& session, Notes& notes);

}  // namespace tally::app
