#include <tally/predictions/describe.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/open_predictions.hpp>

#include "file_layout.hpp"
#include "ragged_column.hpp"
#include "text_cells.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kShownRows = 5;

using Lines = std::vector<std::string>;

// The first rows of one column, under its name.
Lines cells(const hdf5::Dataset& column, const std::string& heading) {
  const auto& info = column.info();
  const std::int64_t num_rows = std::min(info.num_rows(), kShownRows);
  std::vector<std::byte> rows(to_size(num_rows * info.row_bytes()));
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
    if (attribute == kFileMark) continue;
    table[0].push_back(attribute);
    table[1].push_back(reader.attribute_text("/", attribute));
  }
  return table;
}

struct Columns {
  std::vector<Lines> facts{3};  // name, dtype, shape
  std::vector<Lines> first_rows;
  std::int64_t num_rows = 0;

  void add_fixed(const hdf5::Dataset& column, const std::string& name) {
    const auto& info = column.info();
    add_facts(name, info.element, to_string(info.shape));
    if (info.shape.empty() || info.element == hdf5::Element::text) return;
    num_rows = info.num_rows();
    first_rows.push_back(cells(column, name));
  }
  void add_ragged(const RaggedColumn& column, const std::string& name) {
    add_facts(name, column.element(), column.shape_text());
    num_rows = column.num_rows();
    first_rows.push_back({name});
    for (auto& cell : column.first_cells(kShownRows)) first_rows.back().push_back(std::move(cell));
  }
  void add_facts(const std::string& name, hdf5::Element element, std::string shape) {
    facts[0].push_back(name);
    facts[1].emplace_back(hdf5::name(element));
    facts[2].push_back(std::move(shape));
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

  Lines lines{format("predictions file '{}': {} rows", path.string(), columns.num_rows)};
  add_table(lines, "attributes:", attributes(reader));
  add_table(lines, "columns:", columns.facts);
  add_table(lines, "first rows:", columns.first_rows);
  return lines;
}

}  // namespace tally::predictions
