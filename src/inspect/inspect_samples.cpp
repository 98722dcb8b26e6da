// SPDX-License-Identifier: Apache-2.0
#include "inspect_samples.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/sample_names.hpp>
#include <tally/predictions/choose_rows.hpp>
#include <tally/predictions/predictions_text.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "copy_images.hpp"
#include "sample_metadata.hpp"

namespace tally::app {
namespace {

using predictions::SavedRows;

// The data set that the predictions are of, or why there is none.
struct DataOfRows {
  std::unique_ptr<SampleMetadata> metadata;
  std::string lack;

  // Throws Error(usage) where there is none; `what` wants it.
  SampleMetadata& need(std::string_view what) const {
    if (metadata) return *metadata;
    throw Error(ErrorKind::usage, format("{} needs the data set: {}", what, lack),
                "Name it with --data FILE.");
  }
};

// The task predict scores nothing, so that its data set may have no targets.
data::DataSet open_data(const SavedRows& saved, const std::string& path) {
  const bool predicts = is_task(saved.task(), TaskKind::predict);
  return data::DataSet(path, predicts ? data::Targets::left_out : data::Targets::read);
}

DataOfRows find_data(const SavedRows& saved, const std::string& given) {
  const auto path = given.empty() ? saved.attribute("data") : given;
  if (!path) return {nullptr, format("predictions file '{}' does not name it", saved.name())};
  try {
    data::DataSet data_set = open_data(saved, *path);
    // Rows of another data set would show names and texts of other samples.
    if (data_set.identity() != saved.attribute("data_identity")) {
      return {nullptr, format("'{}' is not the data set that was evaluated", printable(*path))};
    }
    return {std::make_unique<SampleMetadata>(std::move(data_set)), {}};
  } catch (const Error& error) {
    // A data set that the user named must open. One that only the predictions name may have been
    // moved, and the rows can be shown without it.
    if (!given.empty()) throw;
    return {nullptr, error.what()};
  }
}

// Classes --------------------------------------------------------------------------------------

std::int64_t class_of_name(std::string_view option, const std::string& name,
                           const std::vector<std::string>& names) {
  const auto first = std::ranges::find(names, name);
  if (first == names.end()) {
    throw Error(ErrorKind::usage,
                format("{}: the data set has no class '{}'", option, printable(name)),
                did_you_mean(name, names, "Classes go by number, too."));
  }
  if (std::find(first + 1, names.end(), name) != names.end()) {
    throw Error(ErrorKind::usage,
                format("{}: several classes are named '{}'", option, printable(name)),
                "Give the class's number.");
  }
  return first - names.begin();
}

// Those of --classes-by name are the model's, which the data set numbers otherwise.
bool has_classes_of_data(const SavedRows& saved) { return saved.attribute("classes_by") != "name"; }

std::optional<std::int64_t> class_of(const SavedRows& saved, const DataOfRows& data,
                                     std::string_view option, const std::string& word) {
  if (word.empty()) return std::nullopt;
  if (!predictions::has_classes(saved.task())) return 0;  // choose_rows() refuses the option then
  const auto number = parse_number<std::int64_t>(word);
  if (!number && !has_classes_of_data(saved)) {
    throw Error(ErrorKind::usage,
                format("{} is '{}', but these classes are the model's (--classes-by name)", option,
                       printable(word)),
                "Give the class's number, which the report has beside its name.");
  }
  if (!number) {
    return class_of_name(option, word, data.need(format("{} by name", option)).info().class_names);
  }
  const auto num_classes =
      parse_number<std::int64_t>(saved.attribute("num_classes").value_or("")).value_or(0);
  if (*number >= 0 && *number < num_classes) return number;
  throw Error(ErrorKind::usage, format("{} is {}, expected 0 to {} or a class's name", option,
                                       *number, num_classes - 1));
}

// Groups ---------------------------------------------------------------------------------------

struct WantedGroup {
  const data::ColumnInfo* column = nullptr;
  std::int32_t value = 0;
};

// Refuses a value that no sample has, for an empty list would look like an answer. Where the group
// has more values than group_values() lists, the wanted one may be among the others.
void require_value(SampleMetadata& metadata, const WantedGroup& wanted) {
  constexpr std::size_t kShownValues = 10;
  const auto values = metadata.values_of(*wanted.column);
  if (values.size() > data::kMaxGroupValues || std::ranges::binary_search(values, wanted.value)) {
    return;
  }
  const auto shown = std::span(values).first(std::min(values.size(), kShownValues));
  throw Error(
      ErrorKind::usage,
      format("--group: no sample has {}={}", printable(wanted.column->name), wanted.value),
      format("{} {}.", values.size() > shown.size() ? "Among others there are" : "There are",
             fmt::join(shown, ", ")));
}

WantedGroup wanted_group(const SampleMetadata& metadata, const std::string& word) {
  const std::size_t equals = word.find('=');
  const auto value = equals == std::string::npos
                         ? std::nullopt
                         : parse_number<std::int32_t>(std::string_view(word).substr(equals + 1));
  if (!value) {
    throw Error(ErrorKind::usage,
                format("--group is '{}', expected NAME=VALUE with an integer", printable(word)));
  }
  const std::string name = word.substr(0, equals);
  const auto& groups = metadata.info().columns.groups;
  const auto found = std::ranges::find(groups, name, &data::ColumnInfo::name);
  if (found != groups.end()) return {&*found, *value};
  std::vector<std::string> names;
  std::ranges::transform(groups, std::back_inserter(names), &data::ColumnInfo::name);
  throw Error(
      ErrorKind::usage, format("--group: the data set has no group '{}'", printable(name)),
      did_you_mean(name, names,
                   names.empty() ? "It has none." : format("It has {}.", fmt::join(names, ", "))));
}

predictions::RowsWanted rows_wanted(const SavedRows& saved, const DataOfRows& data,
                                    const config::SampleChoice& options) {
  predictions::RowsWanted wanted;
  wanted.worst = options.worst > 0;
  if (wanted.worst) wanted.most = options.worst;
  if (options.show > 0) wanted.most = options.show;
  wanted.wrong = options.wrong;
  wanted.label = class_of(saved, data, "--class", options.label);
  wanted.prediction = class_of(saved, data, "--predicted", options.predicted);
  if (options.groups.empty()) return wanted;
  SampleMetadata& metadata = data.need("--group");
  std::vector<WantedGroup> groups;
  for (const std::string& word : options.groups) {
    groups.push_back(wanted_group(metadata, word));
    require_value(metadata, groups.back());
  }
  // The function refers to `metadata`, which belongs to `data` and outlives the choice of rows.
  wanted.also = [&metadata, groups](std::span<const std::int64_t> units,
                                    std::span<std::uint8_t> keep) {
    for (const auto& group : groups) metadata.keep_group(*group.column, group.value, units, keep);
  };
  return wanted;
}

std::string heading(const SavedRows& saved, const predictions::ChosenRows& chosen) {
  const bool all_match = chosen.num_matching == saved.num_rows();
  return format("predictions file '{}': {} of {} {}rows{}, {}", saved.name(), chosen.rows.size(),
                chosen.num_matching, all_match ? "" : "matching ",
                all_match ? "" : format(" ({} in all)", saved.num_rows()), chosen.order);
}

// The images of the rows that are shown, in their order. Returns a line that says so.
std::string copy_images_of(const SavedRows& saved, std::span<const std::int64_t> rows,
                           const DataOfRows& data, const config::SampleChoice& options) {
  SampleMetadata& metadata = data.need("--copy-images");
  if (!data::has_sample_names(metadata.info())) {
    throw Error(ErrorKind::usage,
                format("--copy-images needs names of samples, which data set '{}' does not have",
                       printable(metadata.info().path.string())),
                "Prepare it with names (/samples/name, data_tools/SCHEMA.md).");
  }
  std::vector<NamedSample> samples;
  for (const std::int64_t row : rows) {
    const std::int64_t index = saved.read<std::int64_t>("index", row, 1)[0];
    samples.push_back({index, metadata.name_of(index)});
  }
  copy_images(samples, options.images, options.copy_images);
  return format("wrote '{}': {} images", printable(options.copy_images), samples.size());
}

}  // namespace

std::vector<std::string> inspect_samples(const std::string& file,
                                         const config::SampleChoice& options) {
  const SavedRows saved(file);
  const DataOfRows data = find_data(saved, options.data);
  const auto wanted = rows_wanted(saved, data, options);
  const auto chosen = predictions::choose_rows(saved, wanted);
  // The note comes after all that can throw: an error that names the same lack stands alone.
  if (!data.metadata) {
    log::note(format("names, groups and texts of the data set are not shown: {}", data.lack));
  }
  std::vector<std::string> lines{heading(saved, chosen)};
  std::vector<std::string> names;
  if (data.metadata && has_classes_of_data(saved)) names = data.metadata->info().class_names;
  predictions::DetailsOf more;
  if (data.metadata) more = [&](std::int64_t index) { return data.metadata->of(index); };
  for (auto& line : predictions::show_rows(saved, chosen.rows, names, more)) {
    lines.push_back(std::move(line));
  }
  if (!options.copy_images.empty()) {
    lines.push_back(copy_images_of(saved, chosen.rows, data, options));
  }
  return lines;
}

}  // namespace tally::app
