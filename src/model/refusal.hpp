// Sentences for files of the wrong kind.
#pragma once

#include <tally/base/error.hpp>
#include <tally/model/predictor.hpp>
#include <tally/weights/file_kind.hpp>

namespace tally::model {

// A file given as --model that is not one.
Error model_refusal(const NamedBytes& file, weights::FileKind kind);

}  // namespace tally::model
