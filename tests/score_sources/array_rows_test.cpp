// SPDX-License-Identifier: Apache-2.0
// Rows of .npy and CSV files: the numbers that were written, from any row on.
#include "array_rows.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <numeric>
#include <thread>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "array_file.hpp"
#include "array_scores.hpp"
#include "expect_error.hpp"
#include "npy_file.hpp"
#include "raw_hdf5.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;

class ArrayRowsTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::shared_ptr<data::RowSource> csv(const std::string& text,
                                       const std::vector<std::string>& class_names = {}) const {
    return csv_rows(write("p.csv", text), "logits", class_names);
  }
  void csv_is_refused(const std::string& text, const std::vector<std::string>& says,
                      const std::vector<std::string>& class_names = {}) const {
    expect_error(ErrorKind::dataset, says, [&] {
      const auto rows = csv(text, class_names);
      read(*rows, 0, rows->column().num_rows);
    });
  }

  template <class T = float>
  static std::vector<T> read(data::RowSource& rows, std::int64_t first, std::int64_t count) {
    std::vector<T> values(to_size(count * num_elements(rows.column().row_shape)));
    rows.read(first, count, std::as_writable_bytes(std::span(values)));
    return values;
  }

  raw::TemporaryFolder folder_;
};

TEST_F(ArrayRowsTest, RowsOfNpyAreThoseOfTheFile) {
  std::vector<double> values(24);
  std::iota(values.begin(), values.end(), 0.25);
  write_npy(path("p.npy"), "<f8", {4, 2, 3}, values);
  const auto rows = npy_rows(path("p.npy"), "prediction");
  EXPECT_EQ(rows->column().path, "/prediction");
  EXPECT_EQ(rows->column().name, "prediction");
  EXPECT_EQ(rows->column().dtype, DType::f64);
  EXPECT_EQ(rows->column().num_rows, 4);
  EXPECT_THAT(rows->column().row_shape, ElementsAre(2, 3));
  EXPECT_EQ(read<double>(*rows, 0, 4), values);
  EXPECT_EQ(read<double>(*rows, 3, 1), std::vector<double>(values.end() - 6, values.end()));
  EXPECT_EQ(rows->bytes_read(), 5 * 6 * 8);
  EXPECT_EQ(rows->place(), "'" + path("p.npy") + "'");
  expect_error(ErrorKind::internal, {"rows 3 + 2"}, [&] { read<double>(*rows, 3, 2); });
}

TEST_F(ArrayRowsTest, ARowOfNpyMayBeOneNumber) {
  write_npy(path("p.npy"), "|u1", {3}, std::vector<std::uint8_t>{7, 8, 255});
  const auto rows = npy_rows(path("p.npy"), "prediction");
  EXPECT_TRUE(rows->column().row_shape.empty());
  EXPECT_THAT(read<std::uint8_t>(*rows, 1, 2), ElementsAre(8, 255));
}

TEST_F(ArrayRowsTest, AWrongHeaderIsRefusedWithTheFile) {
  expect_error(ErrorKind::dataset, {"predictions file '" + path("p.npy") + "' is no .npy file"},
               [&] { npy_rows(write("p.npy", "x"), "logits"); });
  expect_error(ErrorKind::dataset, {"none.npy' cannot be read (No such file"},
               [&] { npy_rows(path("none.npy"), "logits"); });
  expect_error(ErrorKind::dataset, {"is not a regular file. Name the predictions.h5 of a result"},
               [&] { npy_rows(folder_.path(), "logits"); });
}

TEST_F(ArrayRowsTest, RowsOfCsvAreItsLinesFromAnyOneOn) {
  std::string text = "a,b\n";
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) {
    text += format("{},{}\n", i, -i / 8.0);
    values.insert(values.end(), {static_cast<float>(i), static_cast<float>(-i / 8.0)});
  }
  const auto rows = csv(text);
  EXPECT_EQ(rows->column().num_rows, 100);
  EXPECT_EQ(rows->column().dtype, DType::f32);
  EXPECT_THAT(rows->column().row_shape, ElementsAre(2));
  for (const std::int64_t first : {0, 1, 15, 16, 31, 99}) {
    for (const std::int64_t count : {0, 1, 2, 16, 33, 100}) {
      if (first + count > 100) continue;
      EXPECT_EQ(read(*rows, first, count), std::vector<float>(values.begin() + 2 * first,
                                                              values.begin() + 2 * (first + count)))
          << first << " " << count;
    }
  }
}

TEST_F(ArrayRowsTest, CsvIsReadInPiecesOfAnyLength) {
  // Longer than the piece of 4 MiB that is looked through at a time.
  const std::string row = "0.125," + std::string(40, '0') + "3\n";
  std::string text = "a,b\n";
  const std::int64_t count = (9 << 20) / std::ssize(row);
  for (std::int64_t i = 0; i < count; ++i) text += row;
  const auto rows = csv(text);
  EXPECT_EQ(rows->column().num_rows, count);
  std::vector<std::jthread> threads;
  for (std::int64_t begin = 0; begin < 4; ++begin) {
    threads.emplace_back([&, begin] {
      for (const std::int64_t first : {begin, count / 2 + begin, count - 4}) {
        EXPECT_THAT(read(*rows, first, 2), ElementsAre(0.125F, 3, 0.125F, 3)) << first;
      }
    });
  }
}

TEST_F(ArrayRowsTest, CsvOfOtherProgramsIsTheSame) {
  for (const std::string text : {
           "a,b\n1,2\n3,4\n",
           "a,b\n1,2\n3,4",
           "\xEF\xBB\xBF"
           "a,b\r\n1,2\r\n\r\n3,4\r\n",
           "\n\na , b\n\n 1,\t2 \n\n\n+3,4e0\n\n",
           "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",4\n",
       }) {
    const auto rows = csv(text);
    EXPECT_THAT(read(*rows, 0, rows->column().num_rows), ElementsAre(1, 2, 3, 4)) << text;
  }
  const auto none = csv("a,b\n");
  EXPECT_EQ(none->column().num_rows, 0);
}

TEST_F(ArrayRowsTest, NumbersThatAreNotFiniteAreLeftToTheScorer) {
  const auto values = read(*csv("a,b\nnan,-inf\n"), 0, 1);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], -std::numeric_limits<float>::infinity());
}

TEST_F(ArrayRowsTest, WhatIsNoNumberIsRefusedWithItsLine) {
  const std::string file = "predictions file '" + path("p.csv") + "'";
  csv_is_refused("a,b\n1,2\n\n3,x\n", {file + ", line 4, cell 2: 'x', expected a number of 32 bits",
                                       "prepare_predictions.py"});
  csv_is_refused("a,b\n1,\n", {"line 2, cell 2: ''"});
  csv_is_refused("a,b\n1,1e99\n", {"line 2, cell 2: '1e99'"});
  csv_is_refused("a,b\n1\n", {"line 2: 1 cells, expected 2"});
  csv_is_refused("a,b\n1,2\n1,2,3\n", {"line 3: 3 cells, expected 2"});
  csv_is_refused("a,b\n1,\"2\n", {"line 2, cell 2: '\"2'"});
  csv_is_refused("a;b\n1;2\n", {"line 2, cell 1: '1;2'"});
  csv_is_refused("a\n" + std::string(100, '7') + "\n", {"line 2, cell 1: '7777", "…'"});
}

TEST_F(ArrayRowsTest, NamesThatMeanAnotherOrderAreRefused) {
  const std::string tool = "data_tools/prepare_predictions.py";
  for (const std::string key : {"index", "name", "id"}) {
    csv_is_refused(key + ",a,b\n0,1,2\n", {"has a column '" + key + "'", tool});
  }
  csv_is_refused(",0,1\n0,1,2\n", {"a column without a name", "index=False"});
  csv_is_refused("a,a\n1,2\n", {"two columns 'a'", tool});
  csv_is_refused("0.5,0.25\n1,2\n", {"line 1: these are numbers", "--no-header"});
  EXPECT_THAT(read(*csv("0,1,2\n1,2,3\n"), 0, 1), ElementsAre(1, 2, 3)) << "names of pandas";
  for (const std::string row : {"0", "0,1", "0,1,1"}) {  // of a file without names
    csv_is_refused(row + "\n" + row + "\n", {"line 1: these are numbers", "--no-header"});
  }
  csv_is_refused("\"a,b\n1,2\n", {"line 1: a quote is not closed"});
  csv_is_refused("", {"is empty"});
  csv_is_refused("\n\r\n", {"is empty"});
  const std::vector<std::string> classes{"cat", "dog"};
  EXPECT_THAT(read(*csv("cat,dog\n1,2\n", classes), 0, 1), ElementsAre(1, 2));
  EXPECT_THAT(read(*csv("a,b\n1,2\n", classes), 0, 1), ElementsAre(1, 2));
  EXPECT_THAT(read(*csv("dog\n2\n", classes), 0, 1), ElementsAre(2)) << "the score of class 1";
  csv_is_refused("dog,cat\n1,2\n", {"a column 'dog'", "in the order of the data set", tool},
                 classes);
  csv_is_refused("cat,fox\n1,2\n", {"a column 'cat'", tool}, classes);
  EXPECT_THAT(read(*csv("CAT,Dog\n1,2\n", classes), 0, 1), ElementsAre(1, 2));
  csv_is_refused("Dog,Cat\n1,2\n", {"a column 'Dog'", "in the order of the data set"}, classes);
  csv_is_refused("Cat\n2\n", {"the single column 'Cat', which is the name of class 0"}, classes);
  csv_is_refused("ID,a\n1,2\n", {"a column 'ID'"}, classes);
  const std::vector<std::string> numbers{"7", "3"}, keys{"id", "name"};
  EXPECT_THAT(read(*csv("7,3\n1,2\n", numbers), 0, 1), ElementsAre(1, 2));
  EXPECT_THAT(read(*csv("id,name\n1,2\n", keys), 0, 1), ElementsAre(1, 2));
}

TEST_F(ArrayRowsTest, ClassesNeedNamesThatAreNoClasses) {
  const auto classes = [&](const std::string& text) {
    return csv_rows(write("p.csv", text), "prediction", {"0", "1"}, CsvCells::classes);
  };
  for (const char* row : {"0\n", "1\n", "0,1\n"}) {
    expect_error(ErrorKind::dataset, {"line 1: these are numbers, expected the names"},
                 [&] { classes(std::string(row) + row); });
  }
  EXPECT_THAT(read<std::int64_t>(*classes("class\n0\n1\n"), 0, 2), ElementsAre(0, 1));
}

TEST_F(ArrayRowsTest, ASingleColumnIsNotThatOfAnotherClass) {
  const std::vector<std::string> two{"cat", "dog"}, three{"cat", "dog", "owl"};
  csv_is_refused("cat\n2\n",
                 {"the single column 'cat', which is the name of class 0",
                  "Save the scores of class 1, 'dog', or of both classes."},
                 two);
  csv_is_refused("dog\n2\n", {"which is the name of class 1", "of all classes"}, three);
  EXPECT_THAT(read(*csv("p\n2\n", two), 0, 1), ElementsAre(2));
  const auto rows = csv_rows(write("p.csv", "cat\n1\n"), "prediction", two, CsvCells::classes);
  EXPECT_THAT(read<std::int64_t>(*rows, 0, 1), ElementsAre(1)) << "no scores, but classes";
}

TEST_F(ArrayRowsTest, AChangeOfTheFileIsFound) {
  const timespec old[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  write_npy(path("p.npy"), "<f4", {2}, std::vector<float>{1, 2});
  write("p.csv", "a\n1\n2\n");
  for (const std::string name : {"p.npy", "p.csv"}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), old, 0), 0);
    const auto rows = name == "p.npy" ? npy_rows(path(name), "x") : csv_rows(path(name), "x", {});
    EXPECT_THAT(rows->stamp(), testing::HasSubstr(", inode "));
    EXPECT_NO_THROW(rows->require_unchanged());
    std::filesystem::resize_file(path(name), 3);
    expect_error(ErrorKind::dataset, {name + "' changed while it was read", "Let nothing write"},
                 [&] { rows->require_unchanged(); });
    expect_error(ErrorKind::dataset, {name + "' cannot be read (the file ends early"},
                 [&] { read(*rows, 1, 1); });
  }
}

TEST_F(ArrayRowsTest, TheFormIsKnownByBytesOrName) {
  write_npy(path("scores"), "<f4", {1}, std::vector<float>{1});
  EXPECT_EQ(array_form(path("scores")), ArrayForm::npy);
  EXPECT_EQ(array_form(write("x.npy", "1")), ArrayForm::npy) << "a damaged one";
  EXPECT_EQ(array_form(write("x.CSV", "a")), ArrayForm::csv);
  for (const char* name : {"x.json", "csv", "x.npz", "x.tsv"}) {
    EXPECT_EQ(array_form(write(name, "{}")), ArrayForm::none) << name;
  }
  raw::create(path("h5.csv"), [](hid_t) {});
  EXPECT_EQ(array_form(path("h5.csv")), ArrayForm::none);
}

}  // namespace
}  // namespace tally::app
