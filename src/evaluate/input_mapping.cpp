// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/input_mapping.hpp>

#include <algorithm>
#include <numeric>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/evaluate/image_recipe_check.hpp>

namespace tally::evaluate {
namespace {

using preprocess::Normalisation;

// Returns what the model sees of one row: of images that are stored as [height, width, channels]
// the shape [channels, height, width].
Shape model_row_shape(const data::ColumnInfo& column) {
  const Shape& row = column.row_shape;
  return column.image ? Shape{row.at(2), row.at(0), row.at(1)} : row;
}

// The message names shapes of single samples: how many are in a batch is no matter of the data.
Error misfit(const data::ColumnInfo& column, const model::TensorSpec& wanted, const Shape& given) {
  const auto sample = [](const Shape& batch) {
    return to_string(Shape(batch.begin() + (batch.empty() ? 0 : 1), batch.end()));
  };
  return {
      ErrorKind::model,
      format("the model expects samples of shape {} {} (-1: any) as input '{}', but {} holds {}",
             sample(wanted.shape), name(wanted.dtype), wanted.name, column.path, sample(given)),
      "Prepare the data in the model's size, or export the model for theirs (--input-shape)."};
}

// Numbers may be widened, and floating ones rounded to the model's precision, but integers and
// fractions are not turned into one another behind the user's back.
bool converts(DType from, DType to) {
  const auto is_floating = [](DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 ||
           dtype == DType::f64;
  };
  if (is_floating(from) || is_floating(to)) return is_floating(from) && is_floating(to);
  return size_bytes(from) < size_bytes(to) || from == to;
}

void check_fit(const data::ColumnInfo& column, const model::TensorSpec& wanted,
               std::int64_t batch_size) {
  const Shape given = shape_of_rows(batch_size, model_row_shape(column));
  const bool fits =
      given.size() == wanted.shape.size() &&
      std::equal(given.begin(), given.end(), wanted.shape.begin(),
                 [](std::int64_t have, std::int64_t want) { return want < 0 || want == have; });
  if (!fits) throw misfit(column, wanted, given);
  if (!column.image && !converts(column.dtype, wanted.dtype)) {
    throw Error(ErrorKind::model,
                format("the model expects input '{}' as {}, {} holds {}", wanted.name,
                       name(wanted.dtype), column.path, name(column.dtype)),
                "Store the input in the model's element type.");
  }
}

void check_card(const data::DataSetInfo& info, const model::ModelCard& card,
                std::int64_t batch_size) {
  // One score can tell two classes apart; the task has the last word on the output's shape.
  const bool one_for_two = info.num_classes == 2 && card.num_classes == 1;
  if (info.num_classes > 0 && card.num_classes && *card.num_classes != info.num_classes &&
      !one_for_two) {
    const bool may_lack_classes =
        info.num_classes < *card.num_classes && info.class_names.empty() &&
        std::ranges::any_of(info.columns.inputs, [](const data::ColumnInfo& column) {
          return column.image.has_value();
        });
    throw Error(
        ErrorKind::model,
        format("the model has {} classes, data set '{}' has {}", *card.num_classes,
               info.path.string(), info.num_classes),
        may_lack_classes
            ? format("If its labels are those of the model, prepare it with --num-classes {}.",
                     *card.num_classes)
            : "Give a model and a data set of the same classes.");
  }
  if (!card.takes_batches_of(batch_size)) {
    throw Error(
        ErrorKind::model,
        format("the model takes batches of {}, --batch-size is {}", card.batch_sizes(), batch_size),
        format("Run with --batch-size {}.", card.largest_batch()));
  }
}

// Returns the card's normalisation if it has one, else the data set's.
Normalisation wanted_normalisation(const ImageRecipes& recipes) {
  const bool is_cards = recipes.model && recipes.model->numbers;
  const ImageNumbers& wanted = is_cards ? *recipes.model->numbers : *recipes.data.numbers;
  return {wanted.scale, wanted.mean, wanted.std, wanted.channels};
}

std::size_t index_of_input(const data::DataSetInfo& info, const model::TensorSpec& wanted,
                           std::size_t num_wanted) {
  const auto found = std::find_if(info.columns.inputs.begin(), info.columns.inputs.end(),
                                  [&](const auto& column) { return column.name == wanted.name; });
  if (found != info.columns.inputs.end()) return to_size(found - info.columns.inputs.begin());
  // One input on both sides cannot be mistaken, whatever its name.
  if (num_wanted == 1 && info.columns.inputs.size() == 1) return 0;
  throw Error(ErrorKind::model,
              format("the model wants an input '{}', data set '{}' has no /inputs/{}", wanted.name,
                     info.path.string(), wanted.name),
              "See 'tally inspect' of both files.");
}

// Is called without a card. Returns the places of the inputs that the model's arguments name, where
// its first ones name all inputs, or all of them name one; else all inputs as they stand in the
// data set.
std::vector<std::size_t> order_of_inputs(const data::DataSetInfo& info,
                                         const std::vector<std::string>& arguments,
                                         std::vector<std::string>& notes) {
  std::vector<std::size_t> in_order(info.columns.inputs.size()), by_name;
  std::iota(in_order.begin(), in_order.end(), std::size_t{0});
  bool names_some = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto found =
        std::ranges::find(info.columns.inputs, arguments[i], &data::ColumnInfo::name);
    if (found == info.columns.inputs.end()) continue;
    names_some = true;
    // Only the first arguments without a gap count: behind an unknown one no input would be left
    // for it.
    if (by_name.size() == i) by_name.push_back(to_size(found - info.columns.inputs.begin()));
  }
  const bool decides = by_name.size() == in_order.size() || by_name.size() == arguments.size();
  if (decides && !by_name.empty()) return by_name;
  if (names_some) {
    notes.push_back(
        format("the model has no card, and its arguments ({}) do not tell which inputs "
               "they are: they are given in alphabetical order",
               fmt::join(arguments, ", ")));
  }
  return in_order;
}

InputBinding make_binding(const data::DataSetInfo& info, std::size_t source,
                          const std::optional<model::ModelCard>& card, DType type,
                          std::int64_t batch_size, const device::Device& device, int threads,
                          InputMapping& made) {
  const data::ColumnInfo& column = info.columns.inputs[source];
  InputBinding binding{source, nullptr};
  if (column.image) {
    auto recipes = compare_recipes(column, card);
    binding.normalise = std::make_unique<preprocess::Normaliser>(
        shape_of_rows(batch_size, column.row_shape), column.image->channels,
        wanted_normalisation(recipes), type, device, threads);
    if (auto note = recipe_note(recipes)) made.notes.push_back(std::move(*note));
    // The report has room for one recipe, that of the first images.
    if (!made.recipes) made.recipes = std::move(recipes);
  }
  return binding;
}

}  // namespace

InputMapping map_inputs(const data::DataSetInfo& info, const model::Predictor& predictor,
                        std::int64_t batch_size, const device::Device& device, int threads) {
  InputMapping made;
  const auto& card = predictor.card();
  const auto add = [&](std::size_t source) {
    const DType type = predictor.input_dtype(made.bindings.size());
    made.bindings.push_back(
        make_binding(info, source, card, type, batch_size, device, threads, made));
  };
  if (!card) {
    for (const std::size_t i : order_of_inputs(info, predictor.argument_names(), made.notes)) {
      add(i);
    }
    return made;
  }
  check_card(info, *card, batch_size);
  for (const auto& wanted : card->inputs) {
    const std::size_t source = index_of_input(info, wanted, card->inputs.size());
    check_fit(info.columns.inputs[source], wanted, batch_size);
    add(source);
  }
  return made;
}

std::vector<TensorView> prepare(const data::Batch& batch, std::span<InputBinding> bindings,
                                const device::Stream& stream) {
  std::vector<TensorView> prepared;
  prepared.reserve(bindings.size());
  for (auto& binding : bindings) {
    const TensorView& stored = batch.inputs.at(binding.source);
    prepared.push_back(binding.normalise ? binding.normalise->run(stored, stream) : stored);
  }
  return prepared;
}

}  // namespace tally::evaluate
