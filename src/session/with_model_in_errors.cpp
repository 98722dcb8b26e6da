// SPDX-License-Identifier: Apache-2.0
#include <tally/session/with_model_in_errors.hpp>

#include <algorithm>
#include <new>
#include <string>

#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

// prepare_coco.py --no-images writes this input in the place of images: the number of each sample.
constexpr const char* kNumber = "index";

bool has_numbers_alone(const data::DataSetInfo& info) {
  if (info.columns.inputs.size() != 1) return false;
  const auto& input = info.columns.inputs.front();
  return input.name == kNumber && input.dtype == DType::i64 && input.row_shape.empty();
}

bool wants_number(const model::Predictor& predictor) {
  if (const auto& card = predictor.card()) {
    return std::ranges::find(card->inputs, kNumber, &model::TensorSpec::name) != card->inputs.end();
  }
  return std::ranges::count(predictor.argument_names(), kNumber) > 0;
}

}  // namespace

void with_model_in_errors(const EvaluationSession& session, const std::function<void()>& step) {
  const WorkScope at_hand(printable(format("model '{}'", session.model.model.path)));
  try {
    step();
  } catch (const std::bad_alloc&) {
    // What is done with the model goes by batches. Elsewhere their size would be wrong advice.
    throw Error(ErrorKind::environment, out_of_memory(),
                "Use a smaller --batch-size or fewer ranks on a node.");
  } catch (const Error& error) {
    // Errors of other kinds do not come from the model, and pass as they are.
    if (error.kind() != ErrorKind::model) throw;
    // The predictor only passes saved scores on, so that what does not fit is in their file.
    if (!session.config.files.predictions.empty()) {
      throw Error(ErrorKind::dataset, format("predictions file '{}': {}",
                                             printable(session.model.model.path), error.what()));
    }
    const auto& info = session.data.set->info();
    if (has_numbers_alone(info) && !wants_number(*session.model.predictor)) {
      throw Error(ErrorKind::dataset,
                  format("data set '{}' has no inputs for a model, only a number for each sample "
                         "(/inputs/index)",
                         printable(info.path.string())),
                  "Score saved results with 'tally score', or prepare it with --images.");
    }
    const std::string model = format("model '{}'", printable(session.config.files.model)),
                      what = error.what();
    if (what.starts_with(model)) throw;  // by the predictor, which knows it
    throw Error(ErrorKind::model, format("{}: {}", model, what));
  }
}

}  // namespace tally::app
