// SPDX-License-Identifier: Apache-2.0
#include "tables/table_inspection.hpp"

#include <limits>
#include <map>

#include <tally/base/checked_cast.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/choices_and_objects.hpp>
#include <tally/data/column_values.hpp>

#include "dataset_error.hpp"
#include "reading/column_pieces_and_offsets.hpp"
#include "tables/target_inspection.hpp"

namespace tally::data {
namespace {

// Calls use(first, count) for runs of `rows` rows that are read at a time.
template <class Use>
void for_each_run(std::int64_t rows, const Use& use) {
  constexpr std::int64_t kMost = 1 << 14;
  for (std::int64_t first = 0; first < rows; first += kMost) {
    use(first, std::min(kMost, rows - first));
  }
}

std::string question_line(const DataSetInfo& info) {
  const auto rows_of = [&](std::string_view ragged) {
    return info.table(format("{}/offsets", ragged)).num_rows - 1;
  };
  return format("{} on {} paragraphs, {} true answers{}", counted(info),
                rows_of("/paragraphs/text"), rows_of("/answers/text"),
                info.no_answer ? "; a question may have none" : "");
}

struct ObjectCounts {
  std::int64_t objects = 0, crowds = 0;
  std::string text() const {
    return crowds == 0 ? format("{}", objects) : format("{}, {} of them crowds", objects, crowds);
  }
};

Lines report_objects(DataSet& data_set) {
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

std::string document_line(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  // Of any numbers that may be there: a sum may not fit int64.
  double bytes = 0, words = 0;
  for_each_run(info.num_units, [&](std::int64_t first, std::int64_t count) {
    const auto add = [&](std::string_view path, double& sum) {
      for (const std::int64_t n :
           read_column<std::int64_t>(data_set, info.table(path), first, count)) {
        sum += static_cast<double>(n);
      }
    };
    add("/units/bytes", bytes);
    add("/units/words", words);
  });
  return format("{}: {:.16g} bytes, {:.16g} words", counted(info), bytes, words);
}

std::string choice_line(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  ValueRange num{std::numeric_limits<std::int64_t>::max(), 0}, gold = num;
  const auto widen = [](ValueRange& range, std::int64_t value) {
    range = {std::min(range.least, value), std::max(range.most, value)};
  };
  for_each_run(info.num_units, [&](std::int64_t first, std::int64_t count) {
    const Choices choices = read_choices(data_set, first, count);
    for (std::size_t i = 0; i < choices.gold.size(); ++i) {
      widen(num, choices.first_choice[i + 1] - choices.first_choice[i]);
      widen(gold, choices.gold[i]);
    }
  });
  return format("{} of {} choices; the right one is {}", counted(info), range_text(num),
                range_text(gold));
}

void check_offsets(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  for (const ColumnInfo& offsets : info.tables) {
    if (offsets.name != "offsets") continue;
    const std::string group = offsets.path.substr(0, offsets.path.rfind('/'));
    const ColumnInfo& values = info.table(group == "/objects" ? "/objects/box" : group + "/values");
    for_each_run(offsets.num_rows - 1, [&](std::int64_t first, std::int64_t count) {
      read_offsets(data_set, offsets, values, first, count);
    });
  }
}

[[noreturn]] void refuse_unit(const DataSetInfo& info, std::int64_t sample, std::int64_t unit,
                              std::int64_t last) {
  throw_dataset_error(info.path, format("/targets/unit[{}]", sample),
                      format("= {} after {}, expected the same or the next of {} (read)", unit,
                             last, counted(info)));
}

// Units have samples one after the other, and each has one.
void check_units(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  std::int64_t last = -1;
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    const auto units = read_column<std::int64_t>(data_set, info.target("unit"), first, count);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t sample = first + static_cast<std::int64_t>(i);
      const bool is_right = units[i] == last + 1 || (units[i] == last && sample > 0);
      if (!is_right) refuse_unit(info, sample, units[i], last);
      last = units[i];
    }
  });
  if (last + 1 == info.num_units) return;
  throw_dataset_error(info.path, "/targets/unit",
                      format("ends with {} of {} (read)", last, counted(info)));
}

// Samples are the choices of their questions, in order.
void check_choices(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    const auto units = read_column<std::int64_t>(data_set, info.target("unit"), first, count);
    const auto which = read_column<std::int32_t>(data_set, info.target("choice"), first, count);
    const Choices choices = read_choices(data_set, units.front(), units.back() - units.front() + 1);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::int64_t sample = first + static_cast<std::int64_t>(i);
      const std::int64_t begin = choices.first_choice[to_size(units[i] - units.front())];
      if (begin + which[i] == sample) continue;
      throw_dataset_error(info.path, format("/targets/choice[{}]", sample),
                          format("= {} of question {}, whose choices begin with sample {} (read)",
                                 which[i], units[i], begin));
    }
  });
}

}  // namespace

std::vector<std::string> table_report(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  const TaskKind task = rules_of(info).kind;
  if (task == TaskKind::question_answering) return {question_line(info)};
  if (task == TaskKind::detection) return report_objects(data_set);
  return {};
}

std::string unit_line(DataSet& data_set) {
  return is_task(data_set.info().task, TaskKind::multiple_choice) ? choice_line(data_set)
                                                                  : document_line(data_set);
}

void check_tables(DataSet& data_set) {
  const DataSetInfo& info = data_set.info();
  check_offsets(data_set);
  if (has_units(rules_of(info))) check_units(data_set);
  if (is_task(info.task, TaskKind::multiple_choice)) check_choices(data_set);
  if (!is_task(info.task, TaskKind::detection)) return;
  for_each_run(info.num_samples, [&](std::int64_t first, std::int64_t count) {
    read_images(data_set, first, count);
  });
  read_class_ids(data_set);
}

}  // namespace tally::data
