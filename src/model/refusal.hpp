// Sentences for files of the wrong kind.
#pragma once

#include <tally/base/error.hpp>
#include <tally/model/model_file.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {

// A file given as --model that is not one.
Error model_refusal(const NamedBytes& file, FileKind kind);
// A file given as --weights that is none.
Error weights_refusal(const NamedBytes& file, FileKind kind);

}  // namespace tally::model
