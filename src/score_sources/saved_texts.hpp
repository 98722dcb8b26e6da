// SPDX-License-Identifier: Apache-2.0
// Answers to questions that `tally score` reads in place of running a model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::app {

// Ids of questions and their answers, each id once, ascending.
using SavedTexts = std::vector<std::pair<std::string, std::string>>;

// Where that id stands; none if it does not.
std::optional<std::size_t> place_of(const SavedTexts& texts, std::string_view id);

// Of SQuAD's predictions.json, or of a predictions.h5. Throws Error(dataset).
SavedTexts read_texts(const std::string& path);

// Collective. The same on all ranks; rank 0 reads. Throws comm::AgreedFailure.
SavedTexts share_texts(const comm::Communicator& comm, const std::string& path);

}  // namespace tally::app
