// SPDX-License-Identifier: Apache-2.0
#include <tally/data/choices_and_objects.hpp>

#include <algorithm>
#include <numeric>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"

namespace tally::data {

Choices read_choices(DataSet& data_set, std::int64_t first, std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  Choices choices;
  choices.first_choice = read_offsets(data_set, info.table("/units/first_choice"),
                                      info.columns.inputs.front(), first, count);
  choices.gold = read_column<std::int64_t>(data_set, info.table("/units/gold"), first, count);
  for (std::size_t i = 0; i < choices.gold.size(); ++i) {
    const std::int64_t question = first + static_cast<std::int64_t>(i);
    const std::int64_t num = choices.first_choice[i + 1] - choices.first_choice[i];
    if (num < 1) {
      throw_dataset_error(info.path, format("/units/first_choice[{}]", question + 1),
                          format("= {}, which leaves question {} without a choice (read)",
                                 choices.first_choice[i + 1], question));
    }
    if (choices.gold[i] >= num) {
      throw_dataset_error(
          info.path, format("/units/gold[{}]", question),
          format("= {}, but the question has {} choices (read)", choices.gold[i], num));
    }
  }
  return choices;
}

namespace {

// Boxes and placements are read as the four numbers that they are in the file.
static_assert(sizeof(Box) == 4 * sizeof(double) && sizeof(Placement) == 4 * sizeof(double));

template <class T>
std::vector<T> read_table(DataSet& data_set, std::string_view path, std::int64_t first,
                          std::int64_t count) {
  return read_column<T>(data_set, data_set.info().table(path), first, count);
}

}  // namespace

Objects read_objects(DataSet& data_set, std::int64_t first, std::int64_t count) {
  const DataSetInfo& info = data_set.info();
  Objects objects;
  objects.offsets = read_offsets(data_set, info.table("/objects/offsets"),
                                 info.table("/objects/box"), first, count);
  const std::int64_t begin = objects.offsets.front(), num = objects.offsets.back() - begin;
  objects.box = read_table<Box>(data_set, "/objects/box", begin, num);
  objects.label = read_table<std::int32_t>(data_set, "/objects/label", begin, num);
  objects.crowd = read_table<std::uint8_t>(data_set, "/objects/crowd", begin, num);
  objects.area = read_table<double>(data_set, "/objects/area", begin, num);
  for (std::int64_t& offset : objects.offsets) offset -= begin;
  return objects;
}

Images read_images(DataSet& data_set, std::int64_t first, std::int64_t count) {
  if (count == 0) return {};
  // With the one before them, so that numbers ascend over pieces too.
  const std::int64_t before = first > 0 ? 1 : 0;
  auto ids = read_table<std::int64_t>(data_set, "/images/id", first - before, count + before);
  const auto found = std::ranges::adjacent_find(ids, std::ranges::greater_equal());
  if (found != ids.end()) {
    const std::int64_t at = first - before + (found - ids.begin()) + 1;
    throw_dataset_error(
        data_set.info().path, format("/images/id[{}]", at),
        format("= {} after {}, expected numbers that ascend (read)", *(found + 1), *found));
  }
  ids.erase(ids.begin(), ids.begin() + before);
  return {.id = std::move(ids),
          .placement = read_table<Placement>(data_set, "/images/placement", first, count)};
}

std::vector<std::int64_t> read_class_ids(DataSet& data_set) {
  auto ids = read_table<std::int64_t>(data_set, "/classes/id", 0, data_set.info().num_classes);
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0);
  const auto id_of = [&](std::size_t i) { return ids[i]; };
  std::ranges::stable_sort(order, {}, id_of);
  const auto twice = std::ranges::adjacent_find(order, {}, id_of);
  if (twice != order.end()) {
    throw_dataset_error(data_set.info().path, format("/classes/id[{}]", *(twice + 1)),
                        format("= {}, as that of class {}, expected another for each class (read)",
                               id_of(*twice), *twice));
  }
  return ids;
}

}  // namespace tally::data
