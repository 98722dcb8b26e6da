// SPDX-License-Identifier: Apache-2.0
#include <tally/data/detection_objects.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"
#include "tables/table_inspection.hpp"
#include "tables/target_inspection.hpp"

namespace tally::data {
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

namespace {

using hdf5::Element;

constexpr std::array kPlacement{Sign::positive, Sign::positive, Sign::any, Sign::any};
constexpr std::array kBox{Sign::any, Sign::any, Sign::not_negative, Sign::not_negative};
constexpr std::array kArea{Sign::not_negative};
constexpr std::array kObjectTables{
    TableRule{"/images/id", Element::i64, 0, kSamples, 0},
    TableRule{"/images/placement", Element::f64, 4, kSamples, 0, kPlacement},
    TableRule{"/classes/id", Element::i64, 0, kClasses, 0},
    TableRule{"/objects/offsets", Element::i64, 0, kSamples, 1},
    TableRule{"/objects/box", Element::f64, 4, "", 0, kBox},
    TableRule{"/objects/label", Element::i32, 0, "/objects/box", 0},
    TableRule{"/objects/crowd", Element::u8, 0, "/objects/box", 0},
    TableRule{"/objects/area", Element::f64, 0, "/objects/box", 0, kArea},
};

void set_object_ranges(DataSetInfo& info) {
  set_range(info, "/objects/label", info.num_classes - 1);
  set_range(info, "/objects/crowd", 1);
}

struct ObjectCounts {
  std::int64_t objects = 0, crowds = 0;
  std::string text() const {
    return crowds == 0 ? format("{}", objects) : format("{}, {} of them crowds", objects, crowds);
  }
};

Lines describe_objects(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::map<std::int64_t, ObjectCounts> of_class;  // only what occurs
  ObjectCounts all;
  std::int64_t images = 0;  // that show something
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    const Objects objects = read_objects(data_set, first, count);
    for (std::size_t i = 0; i + 1 < objects.offsets.size(); ++i) {
      if (objects.offsets[i + 1] > objects.offsets[i]) ++images;
    }
    for (std::size_t i = 0; i < objects.label.size(); ++i) {
      for (ObjectCounts* counts : {&all, &of_class[objects.label[i]]}) {
        ++counts->objects;
        counts->crowds += objects.crowd[i];
      }
    }
  });
  Lines lines{format("objects: {}, in {} of {} images; {} of {} classes occur", all.text(), images,
                     info.num_samples, of_class.size(), info.num_classes)};
  append_each(lines, info, [&](std::int64_t c) {
    const auto found = of_class.find(c);
    return found == of_class.end() ? "0" : found->second.text();
  });
  return lines;
}

void check_images_and_classes(DataSet& data_set) {
  for_each_run(data_set.info().num_samples, [&](std::int64_t first, std::int64_t count) {
    read_images(data_set, first, count);
  });
  read_class_ids(data_set);
}

}  // namespace

const TaskRules& detection_rules() {
  static constexpr TaskRules kRules{.num_classes = kAnyClasses,
                                    .tables = kObjectTables,
                                    .set_ranges = set_object_ranges,
                                    .describe_tables = describe_objects,
                                    .check_tables = check_images_and_classes};
  return kRules;
}

}  // namespace tally::data
