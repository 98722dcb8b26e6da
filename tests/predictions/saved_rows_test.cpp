// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/saved_rows.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "expect_error.hpp"
#include "saved_columns.hpp"

namespace tally::predictions {
namespace {

template <class T>
class NumberOfFile : public testing::Test {};
using Numbers = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t,
                               std::uint32_t, std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(NumberOfFile, Numbers);

// Integers are read as both, numbers with a fraction as double alone. A double holds no more than
// 53 bits of an int64.
TYPED_TEST(NumberOfFile, IsReadAsWhatHoldsIt) {
  using Limits = std::numeric_limits<TypeParam>;
  const bool is_wide = sizeof(TypeParam) == 8;
  const TypeParam least = is_wide ? TypeParam{0} : Limits::lowest();
  const auto most = Limits::is_integer && !is_wide ? Limits::max() : static_cast<TypeParam>(1.5);
  SavedColumns saved("multiclass", 3);
  saved.add("value", std::vector<TypeParam>{1, least, most});
  const SavedRows rows(saved.close());
  EXPECT_EQ(rows.read<double>("value", 1, 2),
            (std::vector<double>{static_cast<double>(least), static_cast<double>(most)}));
  if constexpr (std::is_integral_v<TypeParam>) {
    EXPECT_EQ(rows.read_each<std::int64_t>("value", 0, 2), (std::vector<std::int64_t>{1, least}));
  } else {
    expect_error(ErrorKind::dataset, {"/value is of float", "expected integers"},
                 [&] { rows.read<std::int64_t>("value", 0, 3); });
  }
}

TEST(SavedRows, RefuseElementsThatNoReaderHolds) {
  SavedColumns saved("multiclass", 2);
  saved.add("value", std::vector<std::uint64_t>{1, 2});
  const SavedRows rows(saved.close());
  expect_error(ErrorKind::dataset, {"/value is of uint64, expected numbers"},
               [&] { rows.read<double>("value", 0, 2); });
  EXPECT_EQ(rows.read<double>("index", 0, 0), std::vector<double>{});
}

TEST(SavedRows, ReadSeveralValuesOfARowTogether) {
  SavedColumns saved("multiclass", 2);
  saved.add("probabilities", std::vector<float>{0.25F, 0.75F, 0.5F, 0.5F}, {2, 2});
  const SavedRows rows(saved.close());
  EXPECT_EQ(rows.read<double>("probabilities", 0, 2), (std::vector<double>{0.25, 0.75, 0.5, 0.5}));
  expect_error(ErrorKind::dataset, {"/probabilities has several values in a row"},
               [&] { rows.read_each<double>("probabilities", 0, 2); });
}

// The message names the option by which the next run saves it.
TEST(SavedRows, NameTheOptionThatSavesAMissingColumn) {
  SavedColumns saved("multiclass", 1);
  const SavedRows rows(saved.close());
  for (const auto& [column, option] : {std::pair{"topk", "--save topk"},
                                       {"probabilities", "--save probabilities"},
                                       {"logits", "--save logits"},
                                       {"prediction", "--save labels"}}) {
    const std::string missing = std::string("has no column '") + column + "'";
    expect_error(ErrorKind::dataset, {missing, option}, [&] { rows.open(column); });
    expect_error(ErrorKind::dataset, {missing, option}, [&] { rows.lengths(column, 0, 1); });
  }
}

TEST(SavedRows, RefuseColumnsOfAnotherNumberOfRows) {
  SavedColumns saved("multiclass", 3);
  saved.add("label", std::vector<std::int64_t>{1, 2}, {2});
  saved.add("scalar", std::vector<std::int64_t>{1}, Shape{1, 1});
  saved.add_texts("text", {"a", "b"});
  const SavedRows rows(saved.close());
  expect_error(ErrorKind::dataset, {"/label is [2], expected 3 rows", "damaged"},
               [&] { rows.open("label"); });
  expect_error(ErrorKind::dataset, {"/scalar is [1, 1], expected 3 rows"},
               [&] { rows.open("scalar"); });
  expect_error(ErrorKind::dataset, {"/text is [2, any], expected 3 rows", "damaged"},
               [&] { rows.lengths("text", 0, 2); });
}

TEST(SavedRows, ReadRaggedColumnsByTheirElements) {
  SavedColumns saved("question-answering", 3);
  saved.add_texts("text", {"ab", "", "cde"});
  saved.add("score/values", std::vector<double>{0.5, 1.5}, {2});
  saved.add("score/offsets", std::vector<std::int64_t>{0, 2, 2, 2}, {4});
  const SavedRows rows(saved.close());
  EXPECT_EQ(rows.lengths("text", 0, 3), (std::vector<std::int64_t>{2, 0, 3}));
  EXPECT_EQ(rows.lengths("text", 1, 2), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(rows.elements<std::uint8_t>("text", 1, 2), (std::vector<std::uint8_t>{'c', 'd', 'e'}));
  EXPECT_EQ(rows.elements<double>("score", 0, 3), (std::vector<double>{0.5, 1.5}));
  expect_error(ErrorKind::dataset,
               {"/text/values is uint8 [5], expected float64 [values]", "damaged"},
               [&] { rows.elements<double>("text", 0, 3); });
}

TEST(SavedRows, RefuseFilesThatDoNotSayWhatTheyAre) {
  SavedColumns untitled("", 1);
  const auto path = untitled.close();
  expect_error(ErrorKind::dataset, {"does not say its task"}, [&] { SavedRows rows(path); });

  const TemporaryFolder folder;
  const auto wide = folder.path() / "wide.h5";
  hdf5::Writer writer(wide);
  writer.set_attribute("/", "tally_predictions", 1);
  writer.set_attribute("/", "task", "multiclass");
  writer.write("/index", {1, 2}, std::vector<std::int64_t>{1, 2});
  writer.close();
  expect_error(ErrorKind::dataset, {"/index is [1, 2], expected [rows]"},
               [&] { SavedRows rows(wide); });
}

TEST(SavedRows, KnowTheirAttributesAndColumns) {
  SavedColumns saved("multiclass", 1);
  saved.add("label", std::vector<std::int64_t>{1});
  saved.set("model", "net.pt");
  const SavedRows rows(saved.close());
  EXPECT_EQ(rows.attribute("model"), "net.pt");
  EXPECT_EQ(rows.attribute("data"), std::nullopt);
  EXPECT_EQ(rows.columns(), (std::vector<std::string>{"index", "label"}));
  EXPECT_TRUE(rows.has("label"));
  EXPECT_FALSE(rows.has("logits"));
}

}  // namespace
}  // namespace tally::predictions
