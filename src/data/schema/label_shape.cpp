#include "schema/label_shape.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <tally/base/format.hpp>

namespace tally::data {
namespace {

using hdf5::Element;

// Of the inputs that are filled up, if there are any.
std::optional<std::int64_t> places_of_row(const DataSetInfo& info) {
  const auto padded = std::ranges::find_if(
      info.inputs, [](const ColumnInfo& input) { return input.padding.has_value(); });
  if (padded == info.inputs.end()) return std::nullopt;
  return padded->row_shape.front();
}

}  // namespace

std::span<const Element> label_elements(LabelShape form) {
  static constexpr std::array kClass{Element::i64}, kFlag{Element::u8}, kValue{Element::f32};
  static constexpr std::array kPixel{Element::u8, Element::i16, Element::i32, Element::i64};
  static constexpr std::array kToken{Element::i32, Element::i64};
  switch (form) {
    case LabelShape::none:
      return {};
    case LabelShape::one:
      return kClass;
    case LabelShape::flags:
      return kFlag;
    case LabelShape::values:
      return kValue;
    case LabelShape::mask:
      return kPixel;
    case LabelShape::sequence:
      return kToken;
  }
  return {};
}

bool is_label_shape(const DataSetInfo& info, const Shape& shape) {
  const bool has_columns = shape.size() == 2 && shape[1] == info.num_classes;
  switch (rules_of(info).label) {
    case LabelShape::none:
      return false;
    case LabelShape::one:
      return shape.size() == 1;
    case LabelShape::flags:
      return has_columns;
    case LabelShape::values:
      return has_columns || (info.num_classes == 1 && (shape.size() == 1 || shape.size() == 3));
    case LabelShape::mask:
      return shape.size() == 3;
    case LabelShape::sequence:
      return shape.size() == 2 && places_of_row(info).value_or(shape[1]) == shape[1];
  }
  return false;
}

std::string expected_label_shape(const DataSetInfo& info) {
  switch (rules_of(info).label) {
    case LabelShape::none:
      return "none";
    case LabelShape::one:
      return format("[N] for {}", counted(info));
    case LabelShape::values:
      if (info.num_classes == 1) {
        return format("[N], [N, 1] or [N, height, width] for {}", counted(info));
      }
      [[fallthrough]];
    case LabelShape::flags:
      return format("[N, {}] for {}", info.num_classes, counted(info));
    case LabelShape::mask:
      return "[N, height, width]";
    case LabelShape::sequence: {
      const auto places = places_of_row(info);
      return places ? format("[N, {}]", *places) : "[N, L]";
    }
  }
  return {};
}

bool DataSetInfo::has_maps() const {
  return rules_of(*this).label == LabelShape::values && targets.front().row_shape.size() == 2;
}

}  // namespace tally::data
