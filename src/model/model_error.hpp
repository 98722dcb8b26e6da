// SPDX-License-Identifier: Apache-2.0
// Errors of files of the wrong kind, and of models in the wrong mode.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/model/predictor.hpp>
#include <tally/weights/file_kind.hpp>

namespace tally::model {

// A file given as --model that is not one.
Error model_refusal(const NamedBytes& file, weights::FileKind kind);

// Throws Error(model) where the archive is damaged: the CRC-32 of every entry is compared.
void refuse_damage(const NamedBytes& file);

// "aten::dropout (dropout) at net.py:12"; without the place where the file does not say it.
std::string to_string(const TrainingOperator& found);
// A model in which `operators` (at least one) of training are active; and the note that takes the
// refusal's place where its user allowed that.
Error training_mode_refusal(std::string_view model, std::span<const TrainingOperator> operators);
std::string training_mode_note(std::string_view model, std::span<const TrainingOperator> operators);

}  // namespace tally::model
