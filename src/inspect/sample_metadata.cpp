// SPDX-License-Identifier: Apache-2.0
#include "sample_metadata.hpp"

#include <algorithm>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/detection_objects.hpp>
#include <tally/data/multiple_choice_tables.hpp>
#include <tally/data/sample_names.hpp>

namespace tally::app {
namespace {

// Rows of a column that are held at a time, at most 8 MiB.
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 20;

std::int64_t num_units(const data::DataSetInfo& info) {
  // Where no units are counted each sample is a unit.
  return info.num_units > 0 ? info.num_units : info.num_samples;
}

[[noreturn]] void throw_dataset_error(const data::DataSetInfo& info, std::string_view what) {
  throw Error(ErrorKind::dataset, format("data set '{}' {}", printable(info.path.string()), what),
              "The data set or the predictions file is damaged.");
}

// The first sample of each unit, where several samples make one: 8 bytes for each unit.
// /targets/unit does not descend, so that a unit begins where its value changes.
std::vector<std::int64_t> first_samples(data::DataSet& data_set) {
  const auto& info = data_set.info();
  std::vector<std::int64_t> samples;
  std::int64_t last = -1;
  for (std::int64_t first = 0; first < info.num_samples; first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, info.num_samples - first);
    const auto units = data::read_column<std::int64_t>(data_set, info.target("unit"), first, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::exchange(last, units[to_size(i)]) == units[to_size(i)]) continue;
      samples.push_back(first + i);
    }
  }
  if (std::ssize(samples) != info.num_units) throw_dataset_error(info, "has units without samples");
  return samples;
}

// Finds the first sample of a unit by bisection, as /targets/unit does not descend. Each step reads
// a row; for a few units this is less than the whole column.
std::int64_t first_sample(data::DataSet& data_set, std::int64_t unit) {
  const auto& info = data_set.info();
  std::int64_t begin = 0, end = info.num_samples;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    const bool is_before =
        data::read_column<std::int64_t>(data_set, info.target("unit"), middle, 1)[0] < unit;
    (is_before ? begin : end) = is_before ? middle + 1 : middle;
  }
  if (begin == info.num_samples)
    throw_dataset_error(info, format("has no sample of unit {}", unit));
  return begin;
}

bool has_table(const data::DataSetInfo& info, std::string_view path) {
  return std::ranges::find(info.tables, path, &data::ColumnInfo::path) != info.tables.end();
}

std::string joined(const data::RaggedRows& texts) {
  std::string all;
  for (std::int64_t i = 0; i < texts.num_rows(); ++i) {
    all += (i == 0 ? "" : " | ") + printable(texts.text(i));
  }
  return all;
}

}  // namespace

std::int64_t SampleMetadata::sample_of(std::int64_t unit) {
  const std::int64_t units = num_units(info());
  if (unit < 0 || unit >= units)
    throw_dataset_error(info(), format("has no unit {}: it has {}", unit, units));
  if (info().num_units == 0) return unit;
  return first_samples_.empty() ? first_sample(data_set_, unit) : first_samples_[to_size(unit)];
}

std::string SampleMetadata::gold_answers(std::int64_t question) {
  // The table has an entry more than there are questions, so that the next one is always there. In
  // a damaged file it may be less, which gives no answers.
  const auto first =
      data::read_column<std::int64_t>(data_set_, info().table("/units/first_answer"), question, 2);
  const auto answers =
      data::read_ragged(data_set_, "/answers/text", first[0], std::max(first[1] - first[0], {}));
  return answers.num_rows() == 0 ? "(none)" : joined(answers);
}

void SampleMetadata::add_objects(std::int64_t image, std::vector<predictions::Detail>& details) {
  const auto objects = data::read_objects(data_set_, image, 1);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < objects.box.size(); ++i) {
    const auto& names = info().class_names;
    const std::int32_t label = objects.label[i];
    const data::Box& box = objects.box[i];
    texts.push_back(format("{}{} [{:.6g}, {:.6g}, {:.6g}, {:.6g}]",
                           names.empty() ? format("{}", label) : printable(names[to_size(label)]),
                           objects.crowd[i] != 0 ? " (crowd)" : "", box.x, box.y, box.width,
                           box.height));
  }
  const auto id = data::read_images(data_set_, image, 1).id[0];
  details.push_back({"image", format("{}", id), true});
  details.push_back(
      {"objects", texts.empty() ? "(none)" : format("{}", fmt::join(texts, " | ")), true});
}

std::vector<predictions::Detail> SampleMetadata::of(std::int64_t index) {
  std::vector<predictions::Detail> details;
  const std::int64_t sample = sample_of(index);
  if (data::has_sample_names(info())) details.push_back({"name", printable(name_of(index))});
  for (const auto& group : info().columns.groups) {
    const auto value = data::read_column<std::int32_t>(data_set_, group, sample, 1);
    details.push_back({printable(group.name), format("{}", value[0])});
  }
  if (has_table(info(), "/objects/box")) add_objects(index, details);
  if (has_table(info(), "/units/question/values")) {
    const auto question = data::read_ragged(data_set_, "/units/question", index, 1);
    details.push_back({"question", printable(question.text(0)), true});
  }
  if (has_table(info(), "/answers/text/values")) {
    details.push_back({"gold answers", gold_answers(index), true});
  }
  if (has_table(info(), "/choices/text/values")) {
    const auto choices = data::read_choices(data_set_, index, 1);
    details.push_back({"choices", joined(data::read_choice_texts(data_set_, choices)), true});
  }
  return details;
}

std::string SampleMetadata::name_of(std::int64_t index) {
  return data::read_sample_name(data_set_, sample_of(index));
}

std::vector<std::int32_t> SampleMetadata::values_of(const data::ColumnInfo& group) {
  return data::group_values(data_set_, group, 0, info().num_samples);
}

void SampleMetadata::keep_group(const data::ColumnInfo& group, std::int32_t value,
                                std::span<const std::int64_t> units, std::span<std::uint8_t> keep) {
  // A filter asks for the sample of every unit: one pass over the column is less than a search for
  // each of them.
  if (info().num_units > 0 && first_samples_.empty()) first_samples_ = first_samples(data_set_);
  for (std::size_t i = 0; i < units.size();) {
    const std::int64_t first = sample_of(units[i]);
    // Units whose samples lie close together share one read, of the rows from the first to the last
    // of them. A unit belongs to the group of its first sample.
    std::size_t end = i + 1;
    while (end < units.size() && sample_of(units[end]) >= first &&
           sample_of(units[end]) - first < kRowsAtOnce) {
      ++end;
    }
    const std::int64_t count = sample_of(units[end - 1]) - first + 1;
    const auto values = data::read_column<std::int32_t>(data_set_, group, first, count);
    for (; i < end; ++i) {
      const std::int64_t place = sample_of(units[i]) - first;
      // Units that do not ascend would lie outside the rows that were read.
      if (place < 0 || place >= count)
        throw_dataset_error(info(), "does not have the units in their order");
      if (values[to_size(place)] != value) keep[i] = 0;
    }
  }
}

}  // namespace tally::app
