// SPDX-License-Identifier: Apache-2.0
#include "ragged_column.hpp"

#include <gtest/gtest.h>

#include <tally/predictions/saved_rows.hpp>

#include "expect_error.hpp"
#include "saved_columns.hpp"

namespace tally::predictions {
namespace {

template <class T>
void add_ragged(SavedColumns& saved, const std::string& name, const std::vector<T>& values,
                const Shape& shape, const std::vector<std::int64_t>& offsets) {
  saved.add(name + "/values", values, shape);
  saved.add(name + "/offsets", offsets, {std::ssize(offsets)});
}

TEST(RaggedColumn, ShowsTheFirstNumbersOfARow) {
  SavedColumns saved("token-classification", 3);
  add_ragged<float>(saved, "score", {0.5, 1, 2, 3, 4, 5}, {6}, {0, 1, 6, 6});
  const hdf5::Reader reader = open_predictions(saved.close());
  const RaggedColumn column(reader, "score");
  EXPECT_EQ(column.cell(0), "[0.5]");
  EXPECT_EQ(column.cell(1), "[1, 2, 3, 4, …]");
  EXPECT_EQ(column.cell(2), "[]");
}

TEST(RaggedColumn, ShowsTheFirstRowsOfNumbers) {
  SavedColumns saved("detection", 2);
  add_ragged<std::int32_t>(saved, "box", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {6, 2},
                           {0, 1, 6});
  const hdf5::Reader reader = open_predictions(saved.close());
  const RaggedColumn column(reader, "box");
  EXPECT_EQ(column.shape_text(), "[2, any, 2]");
  EXPECT_EQ(column.cell(0), "[1, 2]");
  EXPECT_EQ(column.cell(1), "[3, 4] [5, 6] [7, 8] [9, 10] …");
}

TEST(RaggedColumn, ReadsTheFirstIntegersOfARow) {
  SavedColumns saved("token-classification", 2);
  add_ragged<std::int32_t>(saved, "label", {7, 8, 9}, {3}, {0, 3, 3});
  add_ragged<float>(saved, "score", {7, 8, 9}, {3}, {0, 3, 3});
  const hdf5::Reader reader = open_predictions(saved.close());
  const RaggedColumn labels(reader, "label");
  EXPECT_EQ(labels.first_integers(0, 2), (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(labels.first_integers(0, 5), (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(labels.first_integers(1, 5), std::vector<std::int64_t>{});
  expect_error(ErrorKind::dataset, {"/score/values is float32 [3], expected int32 [values]"},
               [&] { RaggedColumn(reader, "score").first_integers(0, 2); });
}

}  // namespace
}  // namespace tally::predictions
