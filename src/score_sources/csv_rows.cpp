// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "array_file.hpp"
#include "array_rows.hpp"
#include "csv_cells.hpp"

namespace tally::app {
namespace {

constexpr std::int64_t kScannedBytes = 4 << 20;  // at a time
constexpr std::int64_t kLongestLine = 32 << 20;  // in bytes
constexpr std::int64_t kLinesPerMark = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kPrepare =
    "data_tools/prepare_predictions.py makes a predictions.h5 of other files.";

// Columns that say which sample a row is of. Rows are in the data set's order here.
constexpr std::array<std::string_view, 3> kKeys{"index", "name", "id"};

std::string shown(std::string_view text) {
  return printable(text.substr(0, kLongestCell)) + (text.size() > kLongestCell ? "…" : "");
}

bool is_blank(std::string_view line) { return line.find_first_not_of('\r') == line.npos; }

// Takes the next line that is not empty off the front of a text, without its end.
std::string_view take_line(std::string_view& rest) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!is_blank(line)) return line;
  }
  return {};
}

// Where lines that are not empty begin: every kLinesPerMark-th one, and the end of the file.
struct Marks {
  std::vector<std::int64_t> offsets;
  std::int64_t num_lines = 0;
};

// Goes over a file once, piece by piece, so that lines can be found later.
class LineScan {
 public:
  explicit LineScan(const ArrayFile& file) : file_(file) {}

  Marks run() {
    std::string piece;
    for (std::int64_t at = 0; at < file_.bytes(); at += std::ssize(piece)) {
      piece.resize(to_size(std::min(kScannedBytes, file_.bytes() - at)));
      file_.read(at, std::as_writable_bytes(std::span(piece)));
      scan(piece, at);
    }
    end_line(file_.bytes());
    marks_.offsets.push_back(file_.bytes());
    return std::move(marks_);
  }

 private:
  void scan(std::string_view piece, std::int64_t at) {
    while (true) {
      const std::size_t end = std::min(piece.find('\n'), piece.size());
      is_blank_ = is_blank_ && is_blank(piece.substr(0, end));
      if (end == piece.size()) return;
      at += static_cast<std::int64_t>(end) + 1;
      end_line(at);
      piece.remove_prefix(end + 1);
    }
  }
  void end_line(std::int64_t behind) {
    if (behind - line_ > kLongestLine) {
      file_.fail(
          format(" has a line of {} bytes, expected at most {}", behind - line_, kLongestLine),
          kPrepare);
    }
    if (!is_blank_ && marks_.num_lines++ % kLinesPerMark == 0) marks_.offsets.push_back(line_);
    line_ = behind;
    is_blank_ = true;
  }

  const ArrayFile& file_;
  Marks marks_;
  std::int64_t line_ = 0;  // where it begins
  bool is_blank_ = true;
};

// Some lines of a file, and where they lie there.
struct Lines {
  std::int64_t offset;
  std::string text;
  std::string_view rest;

  Lines(const ArrayFile& file, const Marks& marks, std::int64_t first, std::int64_t count)
      : offset(marks.offsets[to_size(first / kLinesPerMark)]) {
    const std::int64_t end = (first + count + kLinesPerMark - 1) / kLinesPerMark;
    const std::size_t last = std::min(to_size(end), marks.offsets.size() - 1);
    text = file.read_text(offset, marks.offsets[last] - offset);
    rest = text;
    for (std::int64_t left = first % kLinesPerMark; left > 0; --left) take_line(rest);
  }
  Lines(const Lines&) = delete;  // `rest` is of this text
  Lines& operator=(const Lines&) = delete;

  std::int64_t offset_of(std::string_view line) const {
    return offset + (line.data() - text.data());
  }
};

class CsvRows final : public data::RowSource {
 public:
  CsvRows(ArrayFile file, Marks marks, data::ColumnInfo column)
      : RowSource(std::move(column)), file_(std::move(file)), marks_(std::move(marks)) {}

  std::string place() const override { return file_.place(); }
  void require_unchanged() const override { file_.require_unchanged(); }
  std::string stamp() const override { return file_.stamp(); }

 private:
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) override {
    Lines lines(file_, marks_, first + 1, count);  // behind the names
    const std::int64_t row_bytes = column().row_bytes();
    for (std::int64_t row = 0; row < count; ++row) {
      const std::string_view line = take_line(lines.rest);
      if (line.empty()) file_.fail(" has fewer lines than when it was opened", kLeaveAlone);
      const auto place = out.subspan(to_size(row * row_bytes), to_size(row_bytes));
      if (column().dtype == DType::i64) {
        parse(line, lines.offset_of(line), csv_integer, "an integer", place);
      } else {
        parse(line, lines.offset_of(line), csv_number, "a number of 32 bits", place);
      }
    }
  }

  // at: where the line begins in the file. number_of: nothing for a cell that is not `wanted`.
  template <class Number>
  void parse(std::string_view line, std::int64_t at,
             std::optional<Number> (*number_of)(std::string_view), std::string_view wanted,
             std::span<std::byte> out) const {
    const std::int64_t expected = num_elements(column().row_shape);
    NumberCells cells(line);
    std::int64_t found = 0;
    while (const auto cell = cells.next()) {
      const auto number = number_of(*cell);
      if (!number) refuse(at, format("'{}', expected {}", shown(*cell), wanted), found);
      if (found < expected) {
        std::memcpy(out.data() + to_size(found) * sizeof(Number), &*number, sizeof(Number));
      }
      ++found;
    }
    if (found != expected) refuse(at, format("{} cells, expected {}", found, expected), -1);
  }

  // Lines are counted only for a message.
  [[noreturn]] void refuse(std::int64_t at, const std::string& problem, std::int64_t cell) const {
    std::int64_t line = 1;
    std::string piece;
    for (std::int64_t begin = 0; begin < at; begin += std::ssize(piece)) {
      piece = file_.read_text(begin, std::min(kScannedBytes, at - begin));
      line += std::ranges::count(piece, '\n');
    }
    file_.fail(
        format(", line {}{}: {}", line, cell < 0 ? "" : format(", cell {}", cell + 1), problem),
        kPrepare);
  }

  ArrayFile file_;
  Marks marks_;
};

// "0,1,2" are the names that pandas gives to scores. A row of fewer numbers, or of classes, may
// just as well be the first one of a file without names.
bool are_counted(const std::vector<std::string>& names, CsvCells cells) {
  if (cells == CsvCells::classes || names.size() < 3) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != format("{}", i)) return false;
  }
  return true;
}

// Names are compared without case: other programs change it.
std::vector<std::string> in_lower_case(std::vector<std::string> names) {
  for (std::string& name : names) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  return names;
}

bool is_number(const std::string& name) { return csv_number(name).has_value(); }

// A single column of scores is of class 1 of two, and must not be named after another class.
void check_single(const ArrayFile& file, const std::string& name,
                  const std::vector<std::string>& class_names) {
  const auto lower = in_lower_case(class_names);
  const auto found = std::ranges::find(lower, in_lower_case({name}).front());
  if (found == lower.end() || (lower.size() == 2 && *found == lower[1])) return;
  file.fail(
      format(" has the single column '{}', which is the name of class {}", shown(name),
             found - lower.begin()),
      class_names.size() == 2
          ? format("Save the scores of class 1, '{}', or of both classes.", shown(class_names[1]))
          : "Save the scores of all classes.");
}

void check_names(const ArrayFile& file, const std::vector<std::string>& names,
                 const std::vector<std::string>& class_names, CsvCells cells) {
  const bool are_numbers = std::ranges::all_of(names, is_number);
  const auto lower = in_lower_case(names), lower_classes = in_lower_case(class_names);
  const bool are_classes = lower == lower_classes;
  if (are_classes && !(are_numbers && cells == CsvCells::classes)) return;
  const std::set<std::string_view> classes(lower_classes.begin(), lower_classes.end());
  const bool name_classes =
      !are_classes && names.size() > 1 &&
      std::ranges::any_of(lower, [&](const std::string& name) { return classes.contains(name); });
  if (are_numbers && !name_classes && !are_counted(names, cells)) {
    file.fail(", line 1: these are numbers, expected the names of the columns",
              "data_tools/prepare_predictions.py --no-header takes such a file.");
  }
  std::set<std::string_view> before;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (std::ranges::find(kKeys, lower[i]) != kKeys.end()) {
      file.fail(format(" has a column '{}', but rows are taken in the order of the data set", name),
                "data_tools/prepare_predictions.py finds the samples by such a column.");
    }
    if (name.empty()) {
      file.fail(" has a column without a name, as pandas writes its index",
                "Save it with to_csv(index=False).");
    }
    if (!before.insert(name).second) {
      file.fail(format(" has two columns '{}'", shown(name)), kPrepare);
    }
    if (names.size() > 1 && classes.contains(lower[i])) {
      file.fail(format(" has a column '{}', but not all classes in the order of the data set",
                       shown(name)),
                "data_tools/prepare_predictions.py puts them in order.");
    }
  }
  if (names.size() == 1 && cells == CsvCells::numbers) check_single(file, names[0], class_names);
}

std::vector<std::string> read_names(const ArrayFile& file, const Marks& marks) {
  if (marks.num_lines == 0) {
    file.fail(" is empty, expected names of columns and rows of numbers",
              "Save the predictions again.");
  }
  Lines lines(file, marks, 0, 1);
  std::string_view line = take_line(lines.rest);
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  auto names = csv_texts(line);
  if (!names) file.fail(", line 1: a quote is not closed where its cell ends", kPrepare);
  return std::move(*names);
}

}  // namespace

std::shared_ptr<data::RowSource> csv_rows(const std::filesystem::path& path,
                                          const std::string& name,
                                          const std::vector<std::string>& class_names,
                                          CsvCells cells) {
  ArrayFile file(path);
  Marks marks = LineScan(file).run();
  const auto names = read_names(file, marks);
  check_names(file, names, class_names, cells);
  data::ColumnInfo column;
  column.path = "/" + name;
  column.name = name;
  column.dtype = cells == CsvCells::classes ? DType::i64 : DType::f32;
  const bool are_single = cells == CsvCells::classes && names.size() == 1;
  column.row_shape = are_single ? Shape{} : Shape{std::ssize(names)};
  column.num_rows = marks.num_lines - 1;
  return std::make_shared<CsvRows>(std::move(file), std::move(marks), std::move(column));
}

}  // namespace tally::app
