// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_text.hpp>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>

#include "saved_columns.hpp"

namespace tally::predictions {
namespace {

using testing::ElementsAre;

std::vector<std::string> show(const std::filesystem::path& file,
                              const std::vector<std::int64_t>& rows,
                              const std::vector<std::string>& class_names = {},
                              const DetailsOf& more = {}) {
  return show_rows(SavedRows(file), rows, class_names, more);
}

TEST(ShowRows, TablesNameClassesAndBeginWithWhatMatters) {
  SavedColumns saved("multiclass", 3);
  saved.add("a_column", std::vector<float>(15, 0.5F), {3, 5});
  saved.add("label", std::vector<std::int64_t>{0, 1, 2});
  saved.add("loss", std::vector<float>{0.25, 1, 2});
  saved.add("prediction", std::vector<std::int64_t>{1, -1, 3});
  const auto file = saved.close();
  const DetailsOf more = [](std::int64_t index) {
    return std::vector<Detail>{{"site", std::to_string(index * 2)}};
  };
  EXPECT_THAT(show(file, {2, 0}, {"n\u00e9", "b\tc"}, more),
              ElementsAre("rows:",                                                            //
                          "  index  label  prediction  loss  a_column                 site",  //
                          "  102    2      3           2     [0.5, 0.5, 0.5, 0.5, …]  204",
                          "  100    0 n\u00e9   1 b\\x09c    0.25  [0.5, 0.5, 0.5, 0.5, …]  200"));
  EXPECT_THAT(show(file, {}), ElementsAre());
}

TEST(ShowRows, OfMarksTheSetOnesAreNamed) {
  SavedColumns saved("multilabel", 2);
  saved.add("label", std::vector<std::uint8_t>{1, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 6});
  saved.add("prediction", std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0, 255, 255, 255, 255, 255, 255},
            {2, 6});
  EXPECT_THAT(show(saved.close(), {0, 1}, {"cat"}),
              ElementsAre("rows:",                                 //
                          "  index  label     prediction",         //
                          "  100    0 cat, 2  0 cat, 1, 2, 3, …",  //
                          "  101"));
}

TEST(ShowRows, TextsHaveLinesOfTheirOwn) {
  SavedColumns saved("question-answering", 2);
  saved.add("f1", std::vector<double>{0.5, 0});
  saved.add_texts("id", {"one", "a\nb"});
  saved.add_texts("prediction", {"", std::string(5000, 'x')});
  const auto file = saved.close();
  const DetailsOf more = [](std::int64_t) {
    return std::vector<Detail>{{"odd", "1"}, {"question", "Who?", true}};
  };
  EXPECT_THAT(show(file, {1, 0}, {}, more),
              ElementsAre("index 101  f1 0  odd 1",                           //
                          "    id          a\\x0ab",                          //
                          "    question    Who?",                             //
                          "    prediction  " + std::string(4096, 'x') + "…",  //
                          "index 100  f1 0.5  odd 1",                         //
                          "    id          one",                              //
                          "    question    Who?",                             //
                          "    prediction"));
}

// Other programs add texts of HDF5's own; tally's are ragged columns.
TEST(ShowRows, AColumnOfOtherTextsIsNamed) {
  SavedColumns saved("multiclass", 2);
  saved.add_foreign_texts("note", {"x", "y"});
  EXPECT_THAT(show(saved.close(), {1}), ElementsAre("rows:", "  index  note", "  101    text"));
}

}  // namespace
}  // namespace tally::predictions
