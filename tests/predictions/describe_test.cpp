// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_text.hpp>

#include <gmock/gmock.h>

#include <fstream>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/hdf5/writer.hpp>
#include <tally/predictions/predictions_writer.hpp>

#include "publish_predictions.hpp"
#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

ErrorKind kind_of_failure(const std::filesystem::path& path, std::string_view expected_words) {
  try {
    describe(path);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(std::string(expected_words)));
    EXPECT_THAT(error.what(), testing::HasSubstr(path.string()));
    return error.kind();
  }
  ADD_FAILURE() << "no error for " << path;
  return ErrorKind::internal;
}

TEST(Describe, ShowsAttributesColumnsAndFirstRows) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  const std::vector<std::int64_t> labels{7, 11, 3, 4, 5, 6, 8};
  const std::vector<float> logits(7 * 5, 0.25F);
  PredictionsWriter writer(path, {{"label", DType::i64, {}}, {"logits", DType::f32, {5}}}, 7);
  writer.append(0, 7, std::as_bytes(std::span(labels)));
  writer.append(1, 7, std::as_bytes(std::span(logits)));
  publish(writer, {{"model", "net.pt"}, {"data", "val.h5"}});

  const std::string row = "[0.25, 0.25, 0.25, 0.25, …]";
  EXPECT_THAT(describe(path),
              testing::ElementsAre(format("predictions file '{}': 7 rows", path.string()),
                                   "attributes:",                //
                                   "  data   val.h5",            //
                                   "  model  net.pt",            //
                                   "columns:",                   //
                                   "  label   int64    [7]",     //
                                   "  logits  float32  [7, 5]",  //
                                   "first rows:",                //
                                   "  label  logits",            //
                                   "  7      " + row,            //
                                   "  11     " + row,            //
                                   "  3      " + row,            //
                                   "  4      " + row,            //
                                   "  5      " + row));
}

TEST(Describe, ShowsTextsAndHowManyElementsOtherRowsHave) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  std::string long_text(39, 'x');
  long_text += "\u00e9 and more";
  const std::string texts = "Denver\tBroncos" + long_text;
  const std::vector<std::int64_t> lengths{14, 0, std::ssize(long_text)};
  const std::vector<float> boxes(20);
  const std::vector<std::int64_t> boxes_per_row{2, 3, 0};
  PredictionsWriter writer(path, {{"boxes", DType::f32, {4}, true}, {"text", DType::u8, {}, true}},
                           3, {5, std::ssize(texts)});
  writer.append_lengths(0, 3, std::as_bytes(std::span(boxes_per_row)));
  writer.append_elements(0, 5, std::as_bytes(std::span(boxes)));
  writer.append_lengths(1, 3, std::as_bytes(std::span(lengths)));
  writer.append_elements(1, std::ssize(texts), std::as_bytes(std::span(texts)));
  publish(writer);

  // A character is not cut in two.
  EXPECT_THAT(describe(path),
              testing::ElementsAre(format("predictions file '{}': 3 rows", path.string()),
                                   "columns:",                         //
                                   "  boxes  float32  [3, any, 4]",    //
                                   "  text   uint8    [3, any]",       //
                                   "first rows:",                      //
                                   "  boxes  text",                    //
                                   "  2      \"Denver\\x09Broncos\"",  //
                                   "  3      \"\"",                    //
                                   "  0      \"" + std::string(39, 'x') + "\"…"));
}

TEST(Describe, RefusesOffsetsThatLeadNowhere) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  const std::vector<std::vector<std::int64_t>> wrong{{0, 4}, {0, 3, 1}, {-1, 2}, {}};
  for (const auto& offsets : wrong) {
    std::filesystem::remove(path);
    hdf5::Writer file(path);
    file.set_attribute("/", "tally_predictions", 1);
    file.write("/text/values", {3}, std::vector<std::uint8_t>{'a', 'b', 'c'});
    file.write("/text/offsets", {std::ssize(offsets)}, offsets);
    file.close();
    EXPECT_EQ(kind_of_failure(path, "/text/offsets"), ErrorKind::dataset);
  }
}

TEST(Describe, FilesWithoutRowsOrColumns) {
  const TemporaryFolder folder;
  publish(PredictionsWriter(folder.path() / "a.h5", {{"label", DType::i64, {}}}, 0));
  EXPECT_THAT(describe(folder.path() / "a.h5"),
              testing::ElementsAre(testing::EndsWith(": 0 rows"), "columns:", "  label  int64  [0]",
                                   "first rows:", "  label"));
  publish(PredictionsWriter(folder.path() / "b.h5", {}, 0));
  EXPECT_THAT(describe(folder.path() / "b.h5"),
              testing::ElementsAre(testing::EndsWith(": 0 rows")));
}

TEST(Describe, RefusesOtherFiles) {
  const TemporaryFolder folder;
  hdf5::Writer other(folder.path() / "data.h5");
  other.close();
  std::ofstream(folder.path() / "text.h5") << "text";
  EXPECT_EQ(kind_of_failure(folder.path() / "data.h5", "tally_predictions"), ErrorKind::dataset);
  EXPECT_EQ(kind_of_failure(folder.path() / "text.h5", ""), ErrorKind::dataset);
  EXPECT_EQ(kind_of_failure(folder.path() / "missing.h5", ""), ErrorKind::dataset);
}

}  // namespace
}  // namespace tally::predictions
