#include <tally/predictions/show_rows.hpp>

#include <algorithm>
#include <array>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/predictions/choose_rows.hpp>

#include "ragged_column.hpp"
#include "text_cells.hpp"

namespace tally::predictions {
namespace {

using Lines = std::vector<std::string>;
using Facts = std::vector<Fact>;

constexpr std::size_t kShownClasses = 4;  // of one row

// These come first.
constexpr std::array<std::string_view, 10> kOrder{
    "index",        "id",         "label", "question", "choices",
    "gold answers", "prediction", "loss",  "f1",       "confidence"};

std::ptrdiff_t place_of(const Fact& fact) {
  return std::ranges::find(kOrder, fact.name) - kOrder.begin();
}

std::string class_text(std::int64_t number, const Lines& names) {
  if (number < 0 || number >= std::ssize(names)) return format("{}", number);
  return format("{} {}", number, printable(names[to_size(number)]));
}

// Of classes, or of marks those that are set.
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

// Of detections by name, where there are names.
std::string ragged_text(const SavedRows& saved, const std::string& column,
                        const RaggedColumn& ragged, std::int64_t row, const Lines& class_names) {
  const bool are_classes = is_task(saved.task(), TaskKind::detection) && column == "label" &&
                           ragged.is_of(hdf5::Element::i32);
  if (!are_classes || class_names.empty()) return ragged.cell(row);
  constexpr std::int64_t kOneMore = kShownClasses + 1;  // which is not shown
  return format("[{}]", classes_text(ragged.first_integers(row, kOneMore), false, class_names));
}

Fact fact_of(const SavedRows& saved, const std::string& column, std::int64_t row,
             const Lines& class_names) {
  if (is_ragged(saved.reader(), column)) {
    const RaggedColumn ragged(saved.reader(), column);
    return {printable(column), ragged_text(saved, column, ragged, row, class_names),
            ragged.is_text()};
  }
  if (holds_classes(saved, column)) {
    const bool marks = column != "topk" && saved.open(column).info().shape.size() > 1;
    return {column, classes_text(saved.read<std::int64_t>(column, row, 1), marks, class_names)};
  }
  const hdf5::Dataset dataset = saved.open(column);
  std::vector<std::byte> bytes(to_size(dataset.info().row_bytes()));
  dataset.read_rows(row, 1, bytes);
  return {printable(column), row_text(dataset.info(), bytes.data())};
}

Facts facts_of(const SavedRows& saved, std::int64_t row, const Lines& class_names,
               const FactsOf& more) {
  Facts facts;
  for (const std::string& column : saved.columns()) {
    facts.push_back(fact_of(saved, column, row, class_names));
  }
  if (more) {
    const auto index = saved.read<std::int64_t>("index", row, 1);
    for (Fact& fact : more(index[0])) facts.push_back(std::move(fact));
  }
  std::ranges::stable_sort(facts, {}, place_of);
  return facts;
}

void add_paragraph(Lines& lines, const Facts& facts) {
  std::string numbers;
  std::vector<Lines> texts(2);
  for (const Fact& fact : facts) {
    if (fact.is_text) {
      texts[0].push_back("  " + fact.name);
      texts[1].push_back(fact.value);
    } else {
      numbers += format("{}{} {}", numbers.empty() ? "" : "  ", fact.name, fact.value);
    }
  }
  add_table(lines, numbers, texts);
}

}  // namespace

std::vector<std::string> show_rows(const SavedRows& saved, std::span<const std::int64_t> rows,
                                   const std::vector<std::string>& class_names,
                                   const FactsOf& more) {
  Lines lines;
  std::vector<Lines> table;
  for (const std::int64_t row : rows) {
    const Facts facts = facts_of(saved, row, class_names, more);
    if (std::ranges::any_of(facts, &Fact::is_text)) {
      add_paragraph(lines, facts);
      continue;
    }
    table.resize(facts.size());
    for (std::size_t c = 0; c < facts.size(); ++c) {
      if (table[c].empty()) table[c].push_back(facts[c].name);
      table[c].push_back(facts[c].value);
    }
  }
  if (!table.empty()) add_table(lines, "rows:", table);
  return lines;
}

}  // namespace tally::predictions
