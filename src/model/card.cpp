// SPDX-License-Identifier: Apache-2.0
#include <tally/model/card.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/json_depth.hpp>

#include "card_field.hpp"

namespace tally::model {
namespace {

using nlohmann::json;

constexpr std::int64_t kCardVersion = 1;

DType parse_dtype(const CardField& field) {
  try {
    return dtype_from_name(identifier(field));
  } catch (const Error&) {
    field.complain("the name of an element type");
  }
}

// A size, or the name of one that may vary.
Shape parse_shape(const CardField& field) {
  Shape shape;
  for (std::size_t i = 0; i < field.list_size(); ++i) {
    const auto size = field.at(i);
    shape.push_back(size.value.is_string() ? -1 : positive_integer(size));
  }
  if (shape.empty()) field.complain("a shape whose first dimension is the batch");
  return shape;
}

TensorSpec parse_spec(const CardField& field) {
  TensorSpec spec;
  spec.name = identifier(field.at("name"));
  spec.dtype = parse_dtype(field.at("dtype"));
  spec.shape = parse_shape(field.at("shape"));
  return spec;
}

std::vector<TensorSpec> parse_inputs(const CardField& field) {
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < field.list_size(); ++i) specs.push_back(parse_spec(field.at(i)));
  if (specs.empty()) field.complain("at least one input");
  return specs;
}

std::vector<TensorSpec> parse_outputs(const CardField& field) {
  constexpr std::array<std::string_view, 3> kKinds{"logits", "log-probabilities", "probabilities"};
  const std::size_t count = field.list_size();
  if (count == 0) field.complain("at least one output");
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < count; ++i) {
    const CardField output = field.at(i);
    specs.push_back(parse_spec(output));
    // Boxes, counts and classes are of no kind.
    const bool is_integer = specs.back().dtype == DType::i64 || specs.back().dtype == DType::i32;
    const bool may_lack = count > 1 || is_integer;
    if (!may_lack || output.has("kind")) specs.back().kind = one_of(output.at("kind"), kKinds);
  }
  return specs;
}

CardNormalisation parse_normalisation(const CardField& field) {
  constexpr std::array<std::string_view, 3> kChannels{"RGB", "BGR", "L"};
  CardNormalisation result;
  result.channels = one_of(field.at("channels"), kChannels);
  result.scale = finite_number(field.at("scale"));
  const auto numbers = [&](const CardField& list) {
    std::vector<double> values;
    for (std::size_t i = 0; i < list.list_size(); ++i) values.push_back(finite_number(list.at(i)));
    if (values.size() != result.channels.size()) {
      list.complain(format("one number for each channel of {}", result.channels));
    }
    return values;
  };
  result.mean = numbers(field.at("mean"));
  result.std = numbers(field.at("std"));
  const auto positive = [](double value) { return value > 0; };
  if (!std::all_of(result.std.begin(), result.std.end(), positive)) {
    field.at("std").complain("positive numbers");
  }
  return result;
}

std::vector<TrainingOperator> parse_training_mode(const CardField& field) {
  constexpr std::array<std::string_view, 3> kWhat{"dropout", "batch statistics", "random numbers"};
  std::vector<TrainingOperator> found;
  for (std::size_t i = 0; i < field.list_size(); ++i) {
    const CardField entry = field.at(i);
    found.push_back({identifier(entry.at("operator")), one_of(entry.at("what"), kWhat),
                     entry.has("source") ? identifier(entry.at("source")) : std::string()});
  }
  return found;
}

std::optional<ImageSize> optional_size(const CardField& recipe, const char* key) {
  if (!recipe.has(key)) return std::nullopt;
  const CardField size = recipe.at(key);
  if (size.list_size() != 2) size.complain("height and width");
  const auto side = [&](std::size_t index) {
    const auto found = positive_integer(size.at(index));
    if (found > kLargestImageSide) size.at(index).complain("the side of an image");
    return found;
  };
  return ImageSize{side(0), side(1)};
}

CardRecipe parse_recipe(const CardField& field) {
  CardRecipe recipe{.source = identifier(field.at("source")), .geometry = {}};
  auto& geometry = recipe.geometry;
  geometry.resize = optional_size(field, "resize");
  geometry.crop = optional_size(field, "crop");
  if (field.has("crop_share")) {
    geometry.crop_share = finite_number(field.at("crop_share"));
    if (!(*geometry.crop_share > 0)) field.at("crop_share").complain("a number above 0");
  }
  if (field.has("crop_mode")) geometry.crop_mode = one_of(field.at("crop_mode"), kCropModes);
  if (field.has("interpolation")) {
    geometry.interpolation = one_of(field.at("interpolation"), kInterpolations);
  }
  return recipe;
}

// The weights' file is null there; it is missing where nothing is known of it.
bool says_random(const json& source) {
  return source.is_object() && source.contains("weights") && source.at("weights").is_null();
}

std::vector<std::string> identifiers(const CardField& field) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < field.list_size(); ++i) found.push_back(identifier(field.at(i)));
  return found;
}

// Names may be empty, and may repeat.
std::vector<std::string> parse_class_names(const CardField& field, std::int64_t num_classes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < field.list_size(); ++i) {
    const CardField name = field.at(i);
    if (!name.value.is_string()) name.complain("text");
    names.push_back(name.value.get<std::string>());
  }
  if (std::ssize(names) != num_classes) {
    field.complain(format("a name for each of {} classes", num_classes));
  }
  return names;
}

PackageInfo parse_package(const CardField& field) {
  constexpr std::array<std::string_view, 3> kPrecisions{"fp32", "bf16", "fp16"};
  constexpr std::array<std::string_view, 2> kLayouts{"contiguous", "channels-last"};
  PackageInfo info{.precision = one_of(field.at("precision"), kPrecisions),
                   .code_sha256 = identifier(field.at("library_sha256")),
                   .channels_last = one_of(field.at("layout"), kLayouts) == "channels-last",
                   .cpu_features = identifiers(field.at("cpu_features"))};
  if (field.has("largest_batch")) info.largest_batch = positive_integer(field.at("largest_batch"));
  return info;
}

// It is there for people; what of it has another form is passed over.
void parse_source(const json& source, ModelCard& card) {
  card.source = source.dump();
  card.weights.are_random = says_random(source);
  const auto weights = source.is_object() ? source.find("weights") : source.end();
  if (!source.is_object() || weights == source.end() || !weights->is_object()) return;
  const auto text = [&](const char* key) {
    const auto found = weights->find(key);
    return found != weights->end() && found->is_string() ? found->get<std::string>()
                                                         : std::string();
  };
  card.weights.name = text("path");
  card.weights.sha256 = text("sha256");
}

void check_batch(const ModelCard& card, const CardField& root) {
  for (const auto* specs : {&card.inputs, &card.outputs}) {
    for (const auto& spec : *specs) {
      const auto batch = spec.shape.front();
      // A size in the first place binds all batches, as fixed_batch does: the two must agree.
      if (batch < 0 || card.fixed_batch == batch) continue;
      root.at(specs == &card.inputs ? "inputs" : "outputs")
          .complain("\"batch\" or the value of fixed_batch as first dimension");
    }
  }
}

ModelCard parse_fields(const CardField& root) {
  // A card of another version may mean something else by the same keys.
  if (!root.at("tally_card").value.is_number_integer() ||
      root.at("tally_card").value != kCardVersion) {
    root.at("tally_card").complain(format("{}", kCardVersion));
  }
  ModelCard card;
  card.inputs = parse_inputs(root.at("inputs"));
  card.outputs = parse_outputs(root.at("outputs"));
  if (root.has("fixed_batch")) card.fixed_batch = positive_integer(root.at("fixed_batch"));
  if (root.has("normalisation")) card.normalisation = parse_normalisation(root.at("normalisation"));
  if (root.has("recipe")) card.recipe = parse_recipe(root.at("recipe"));
  if (root.has("num_classes")) card.num_classes = positive_integer(root.at("num_classes"));
  if (root.has("class_names")) {
    // A network that scores each token has no num_classes; its last dimension has as many scores.
    card.class_names = parse_class_names(root.at("class_names"),
                                         card.num_classes.value_or(card.outputs[0].shape.back()));
  }
  if (root.has("weights")) {
    constexpr std::array<std::string_view, 2> kWeights{"swappable", "frozen"};
    card.weights.are_swappable = one_of(root.at("weights"), kWeights) == "swappable";
  }
  if (root.has("fixed_buffers")) card.weights.fixed_buffers = identifiers(root.at("fixed_buffers"));
  if (root.has("package")) card.package = parse_package(root.at("package"));
  if (root.has("training_mode")) {
    card.training_mode = parse_training_mode(root.at("training_mode"));
  }
  if (root.has("source")) parse_source(root.at("source").value, card);
  check_batch(card, root);
  return card;
}

}  // namespace

std::int64_t ModelCard::largest_batch() const {
  if (fixed_batch) return *fixed_batch;
  return package ? package->largest_batch : std::numeric_limits<std::int64_t>::max();
}

std::string ModelCard::batch_sizes() const {
  if (fixed_batch) return format("{} only", *fixed_batch);
  const auto most = largest_batch();
  return most == std::numeric_limits<std::int64_t>::max() ? "" : format("at most {}", most);
}

ModelCard parse_card(std::string_view text, std::string_view where) {
  constexpr int kLevels = 32;  // what is nested deepest is `source`, which exporters may add to
  const bool is_bounded = text.size() <= to_size(kMaxCardBytes) && !is_nested_deeper(text, kLevels);
  const auto root = is_bounded ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
  if (!root.is_object()) {
    throw Error(ErrorKind::model,
                format("{}: its card is not a JSON object of at most {} bytes, nested at most {} "
                       "deep",
                       where, kMaxCardBytes, kLevels),
                "Export the model again, or correct the card (docs/model-card.md).");
  }
  return parse_fields({root, "", where});
}

}  // namespace tally::model
