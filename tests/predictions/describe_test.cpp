#include <tally/predictions/describe.hpp>

#include <gmock/gmock.h>

#include <fstream>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/hdf5/writer.hpp>
#include <tally/predictions/writer.hpp>

#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

TEST(Describe, ShowsAttributesColumnsAndFirstRows) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  const std::vector<std::int64_t> labels{7, 11, 3, 4, 5, 6, 8};
  const std::vector<float> logits(7 * 5, 0.25F);
  PredictionsWriter writer(path, {{"label", DType::i64, {}}, {"logits", DType::f32, {5}}}, 7);
  writer.append(0, 7, std::as_bytes(std::span(labels)));
  writer.append(1, 7, std::as_bytes(std::span(logits)));
  writer.publish({{"model", "net.pt"}, {"data", "val.h5"}});

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

TEST(Describe, FilesWithoutRowsOrColumns) {
  const TemporaryFolder folder;
  PredictionsWriter(folder.path() / "a.h5", {{"label", DType::i64, {}}}, 0).publish({});
  EXPECT_THAT(describe(folder.path() / "a.h5"),
              testing::ElementsAre(testing::EndsWith(": 0 rows"), "columns:", "  label  int64  [0]",
                                   "first rows:", "  label"));
  PredictionsWriter(folder.path() / "b.h5", {}, 0).publish({});
  EXPECT_THAT(describe(folder.path() / "b.h5"),
              testing::ElementsAre(testing::EndsWith(": 0 rows")));
}

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
