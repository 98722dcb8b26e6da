#include <tally/predictions/describe.hpp>

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/hdf5/reader.hpp>

#include "file_layout.hpp"
#include "ragged_cells.hpp"

namespace tally::predictions {
namespace {

constexpr std::int64_t kShownRows = 5;
constexpr std::int64_t kShownValues = 4;  // of one row

using Lines = std::vector<std::string>;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string value_text(hdf5::Element element, const std::byte* at) {
  using hdf5::Element;
  switch (element) {
    case Element::u8:
      return format("{}", load<std::uint8_t>(at));
    case Element::i8:
      return format("{}", load<std::int8_t>(at));
    case Element::u16:
      return format("{}", load<std::uint16_t>(at));
    case Element::i16:
      return format("{}", load<std::int16_t>(at));
    case Element::u32:
      return format("{}", load<std::uint32_t>(at));
    case Element::i32:
      return format("{}", load<std::int32_t>(at));
    case Element::u64:
      return format("{}", load<std::uint64_t>(at));
    case Element::i64:
      return format("{}", load<std::int64_t>(at));
    case Element::f32:
      return format("{:.6g}", load<float>(at));
    case Element::f64:
      return format("{:.6g}", load<double>(at));
    case Element::text:
      break;
  }
  return "text";
}

// "3", or for a row of several values "[0.1, 0.2, 0.3, 0.4, …]".
std::string row_text(const hdf5::DatasetInfo& info, const std::byte* row) {
  const std::int64_t value_bytes = hdf5::size_bytes(info.element);
  if (info.shape.size() == 1) return value_text(info.element, row);
  const std::int64_t num_values = num_elements(info.row_shape());
  Lines values;
  for (std::int64_t i = 0; i < std::min(num_values, kShownValues); ++i) {
    values.push_back(value_text(info.element, row + i * value_bytes));
  }
  if (num_values > kShownValues) values.emplace_back("…");
  return format("[{}]", fmt::join(values, ", "));
}

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

// A title and texts side by side, in columns as wide as their widest text; nothing for no texts.
void add_table(Lines& lines, std::string_view title, const std::vector<Lines>& columns) {
  std::size_t height = 0;
  for (const auto& column : columns) height = std::max(height, column.size());
  if (height > 0) lines.emplace_back(title);
  for (std::size_t row = 0; row < height; ++row) {
    std::string line = " ";
    for (const auto& column : columns) {
      std::size_t width = 0;
      for (const auto& text : column) width = std::max(width, text.size());
      line += format(" {:<{}} ", row < column.size() ? column[row] : "", width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

void require_mark(const hdf5::Reader& reader) {
  if (reader.has_attribute("/", kFileMark)) return;
  throw Error(ErrorKind::dataset,
              format("file '{}' holds no predictions (it has no root attribute '{}')",
                     reader.path().string(), kFileMark),
              "Give a predictions.h5 that 'tally evaluate' wrote.");
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
  const hdf5::Reader reader(path, ErrorKind::dataset, "predictions file");
  reader.refuse_indirections();
  require_mark(reader);

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
