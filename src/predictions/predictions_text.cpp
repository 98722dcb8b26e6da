// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_text.hpp>

#include <algorithm>
#include <array>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/choose_rows.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "ragged_column.hpp"
#include "text_cells.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kShownRows = 5;

using Lines = std::vector<std::string>;

// Returns the first rows of one column, under its name.
Lines cells(const hdf5::Dataset& column, const std::string& heading) {
  const auto& info = column.info();
  const std::int64_t num_rows = std::min(info.num_rows(), kShownRows);
  std::vector<std::byte> rows(to_size(num_rows * info.row_bytes()));
  // Only the rows that are shown are read, whatever the size of the file.
  column.read_rows(0, num_rows, rows);
  Lines texts{heading};
  for (std::int64_t i = 0; i < num_rows; ++i) {
    texts.push_back(row_text(info, rows.data() + i * info.row_bytes()));
  }
  return texts;
}

std::vector<Lines> attributes(const hdf5::Reader& reader) {
  std::vector<Lines> table(2);  // name, value
  for (const auto& attribute : reader.attribute_names("/")) {
    // The mark says that this is such a file, which the title says, too.
    if (attribute == kFileMark) continue;
    table[0].push_back(attribute);
    table[1].push_back(reader.attribute_text("/", attribute));
  }
  return table;
}

struct Columns {
  std::vector<Lines> shown{3};  // name, dtype, shape
  std::vector<Lines> first_rows;
  std::int64_t num_rows = 0;

  void add_fixed(const hdf5::Dataset& column, const std::string& name) {
    const auto& info = column.info();
    add_column(name, info.element, to_string(info.shape));
    // Such a dataset is none that we write: it is listed, but has no rows to show.
    if (info.shape.empty() || info.element == hdf5::Element::text) return;
    num_rows = info.num_rows();
    first_rows.push_back(cells(column, name));
  }
  void add_ragged(const RaggedColumn& column, const std::string& name) {
    add_column(name, column.element(), column.shape_text());
    num_rows = column.num_rows();
    first_rows.push_back({name});
    for (auto& cell : column.first_cells(kShownRows)) first_rows.back().push_back(std::move(cell));
  }
  void add_column(const std::string& name, hdf5::Element element, std::string shape) {
    shown[0].push_back(name);
    shown[1].emplace_back(hdf5::name(element));
    shown[2].push_back(std::move(shape));
  }
};

}  // namespace

std::vector<std::string> describe(const std::filesystem::path& path) {
  const hdf5::Reader reader = open_predictions(path);

  Columns columns;
  for (const auto& child : reader.children("/")) {
    if (reader.kind_of("/" + child) == hdf5::ObjectKind::dataset) {
      columns.add_fixed(reader.dataset("/" + child), child);
    } else if (is_ragged(reader, child)) {
      columns.add_ragged(RaggedColumn(reader, child), child);
    }
  }

  Lines lines{format("predictions file '{}': {} rows", printable(path.string()), columns.num_rows)};
  add_table(lines, "attributes:", attributes(reader));
  add_table(lines, "columns:", columns.shown);
  add_table(lines, "first rows:", columns.first_rows);
  return lines;
}

namespace {

using Lines = std::vector<std::string>;
using Details = std::vector<Detail>;

constexpr std::size_t kShownClasses = 4;  // of one row

// Details of these names come first, in this order; all others follow in the order in which they
// were found.
constexpr std::array<std::string_view, 11> kOrder{
    "index",        "name",       "id",   "label", "question",  "choices",
    "gold answers", "prediction", "loss", "f1",    "confidence"};

std::ptrdiff_t place_of(const Detail& detail) {
  return std::ranges::find(kOrder, detail.name) - kOrder.begin();
}

std::string class_text(std::int64_t number, const Lines& names) {
  if (number < 0 || number >= std::ssize(names)) return format("{}", number);
  return format("{} {}", number, printable(names[to_size(number)]));
}

// Returns the text of a row's classes or, of marks, of the classes whose mark is set.
std::string classes_text(std::span<const std::int64_t> values, bool marks, const Lines& names) {
  Lines texts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (marks && values[i] != 1) continue;
    if (texts.size() == kShownClasses) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(class_text(marks ? static_cast<std::int64_t>(i) : values[i], names));
  }
  return format("{}", fmt::join(texts, ", "));
}

bool holds_classes(const SavedRows& saved, std::string_view column) {
  return has_classes(saved.task()) &&
         (column == "label" || column == "prediction" || column == "topk");
}

// Whether the elements of a ragged column's rows are classes.
bool are_classes(std::string_view task, std::string_view column) {
  if (is_task(task, TaskKind::detection)) return column == "label";
  return is_task(task, TaskKind::token_classification) &&
         (column == "label" || column == "prediction");
}

// They are shown by name where there are names.
std::string ragged_text(const SavedRows& saved, const std::string& column,
                        const RaggedColumn& ragged, std::int64_t row, const Lines& class_names) {
  if (class_names.empty() || !are_classes(saved.task(), column) ||
      !ragged.is_of(hdf5::Element::i32)) {
    return ragged.cell(row);
  }
  constexpr std::int64_t kOneMore = kShownClasses + 1;  // which is not shown
  return format("[{}]", classes_text(ragged.first_integers(row, kOneMore), false, class_names));
}

Detail detail_of(const SavedRows& saved, const std::string& column, std::int64_t row,
                 const Lines& class_names) {
  if (is_ragged(saved.reader(), column)) {
    const RaggedColumn ragged(saved.reader(), column);
    return {printable(column), ragged_text(saved, column, ragged, row, class_names),
            ragged.is_text()};
  }
  if (holds_classes(saved, column)) {
    // A row of `topk` has several classes, while several values of `label` or `prediction` are
    // marks.
    const bool marks = column != "topk" && saved.open(column).info().shape.size() > 1;
    return {column, classes_text(saved.read<std::int64_t>(column, row, 1), marks, class_names)};
  }
  const hdf5::Dataset dataset = saved.open(column);
  if (dataset.info().element == hdf5::Element::text) return {printable(column), "text"};
  std::vector<std::byte> bytes(to_size(dataset.info().row_bytes()));
  dataset.read_rows(row, 1, bytes);
  return {printable(column), row_text(dataset.info(), bytes.data())};
}

Details details_of(const SavedRows& saved, std::int64_t row, const Lines& class_names,
                   const DetailsOf& more) {
  Details details;
  for (const std::string& column : saved.columns()) {
    details.push_back(detail_of(saved, column, row, class_names));
  }
  // What the data set knows is found by the sample's index, which is not the place of its row.
  if (more) {
    const auto index = saved.read<std::int64_t>("index", row, 1);
    for (Detail& detail : more(index[0])) details.push_back(std::move(detail));
  }
  std::ranges::stable_sort(details, {}, place_of);
  return details;
}

void add_paragraph(Lines& lines, const Details& details) {
  std::string numbers;
  std::vector<Lines> texts(2);
  for (const Detail& detail : details) {
    if (detail.is_text) {
      texts[0].push_back("  " + detail.name);
      texts[1].push_back(detail.value);
    } else {
      numbers += format("{}{} {}", numbers.empty() ? "" : "  ", detail.name, detail.value);
    }
  }
  add_table(lines, numbers, texts);
}

}  // namespace

std::vector<std::string> show_rows(const SavedRows& saved, std::span<const std::int64_t> rows,
                                   const std::vector<std::string>& class_names,
                                   const DetailsOf& more) {
  Lines lines;
  std::vector<Lines> table;
  for (const std::int64_t row : rows) {
    const Details details = details_of(saved, row, class_names, more);
    // A text may be longer than a line, so rows that have one are paragraphs instead of lines of a
    // table.
    if (std::ranges::any_of(details, &Detail::is_text)) {
      add_paragraph(lines, details);
      continue;
    }
    table.resize(details.size());
    for (std::size_t c = 0; c < details.size(); ++c) {
      if (table[c].empty()) table[c].push_back(details[c].name);
      table[c].push_back(details[c].value);
    }
  }
  if (!table.empty()) add_table(lines, "rows:", table);
  return lines;
}

}  // namespace tally::predictions
