// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/predictions_writer.hpp>

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>

#include "limited_child.hpp"
#include "publish_predictions.hpp"
#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

using testing::ElementsAre;

const std::vector<ColumnSpec> kSpecs{{"prediction", DType::i64, {}}, {"logits", DType::f32, {2}}};

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

const std::vector<std::int64_t> kPredictions{1, 0, 1};
const std::vector<float> kLogits{0.5F, 1.5F, 2.0F, -1.0F, 0.0F, 0.25F};

// Columns advance on their own, in pieces.
void append_all(PredictionsWriter& writer) {
  writer.append(1, 2, bytes_of(kLogits).first(16));
  writer.append(0, 1, bytes_of(kPredictions).first(8));
  writer.append(1, 1, bytes_of(kLogits).subspan(16));
  writer.append(0, 0, {});
  writer.append(0, 2, bytes_of(kPredictions).subspan(8));
}

TEST(PredictionsWriter, WhatWasAppendedIsRead) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "predictions.h5";
  {
    PredictionsWriter writer(path, kSpecs, 3);
    append_all(writer);
    EXPECT_TRUE(std::filesystem::exists(partial_path(path)));
    EXPECT_FALSE(std::filesystem::exists(path));
    publish(writer, {{"model", "net.pt"}, {"digest", writer.digest()}});
    EXPECT_FALSE(std::filesystem::exists(partial_path(path)));
  }
  const hdf5::Reader reader(path);
  EXPECT_THAT(reader.children("/"), ElementsAre("logits", "prediction"));
  EXPECT_EQ(reader.dataset("/prediction").read_all<std::int64_t>(), kPredictions);
  const auto logits = reader.dataset("/logits");
  EXPECT_EQ(logits.read_all<float>(), kLogits);
  EXPECT_EQ(logits.info().shape, (Shape{3, 2}));
  EXPECT_EQ(logits.info().storage, hdf5::Storage::contiguous);
  EXPECT_THAT(logits.info().filters, testing::IsEmpty());
  EXPECT_EQ(reader.string_attribute("/", "model"), "net.pt");
  EXPECT_EQ(reader.int64_attribute("/", "tally_predictions"), 1);
}

TEST(PredictionsWriter, DigestIsTheDocumentedText) {
  const TemporaryFolder folder;
  PredictionsWriter writer(folder.path() / "p.h5", kSpecs, 3);
  append_all(writer);
  EXPECT_EQ(writer.digest(),
            digest::sha256_hex("logits\nfloat32\n[3, 2]\n" + digest::sha256_hex(bytes_of(kLogits)) +
                               "\nprediction\nint64\n[3]\n" +
                               digest::sha256_hex(bytes_of(kPredictions)) + "\n"));
}

TEST(PredictionsWriter, DigestDoesNotDependOnTheOrderOfColumns) {
  const TemporaryFolder folder;
  PredictionsWriter writer(folder.path() / "a.h5", kSpecs, 3);
  append_all(writer);
  PredictionsWriter turned(folder.path() / "b.h5", {kSpecs[1], kSpecs[0]}, 3);
  turned.append(0, 3, bytes_of(kLogits));
  turned.append(1, 3, bytes_of(kPredictions));
  EXPECT_EQ(writer.digest(), turned.digest());
}

TEST(PredictionsWriter, NoRowsAndNoColumnsAreFiles) {
  const TemporaryFolder folder;
  PredictionsWriter no_rows(folder.path() / "no_rows.h5", kSpecs, 0);
  const std::string empty = digest::sha256_hex(std::string_view());
  EXPECT_EQ(no_rows.digest(), digest::sha256_hex("logits\nfloat32\n[0, 2]\n" + empty +
                                                 "\nprediction\nint64\n[0]\n" + empty + "\n"));
  publish(no_rows);
  const hdf5::Reader reader(folder.path() / "no_rows.h5");
  EXPECT_EQ(reader.dataset("/logits").info().shape, (Shape{0, 2}));

  PredictionsWriter no_columns(folder.path() / "no_columns.h5", {}, 7);
  EXPECT_EQ(no_columns.digest(), empty);
  publish(no_columns, {{"model", "net.pt"}});
  EXPECT_THAT(hdf5::Reader(folder.path() / "no_columns.h5").children("/"), testing::IsEmpty());
}

TEST(PredictionsWriter, IncompleteColumnsAreRefused) {
  const TemporaryFolder folder;
  {
    PredictionsWriter writer(folder.path() / "p.h5", kSpecs, 3);
    writer.append(0, 3, bytes_of(kPredictions));
    writer.append(1, 2, bytes_of(kLogits).first(16));
    EXPECT_THROW(writer.digest(), Error);
    EXPECT_THROW(publish(writer), Error);
    EXPECT_THROW(writer.append(0, 1, bytes_of(kPredictions).first(8)), Error);  // a fourth row
    EXPECT_THROW(writer.append(1, 1, bytes_of(kLogits).first(4)), Error);       // half a row
  }
  EXPECT_TRUE(folder.is_empty());
}

TEST(PredictionsWriter, LeavesNothingUnlessPublished) {
  const TemporaryFolder folder;
  {
    PredictionsWriter writer(folder.path() / "p.h5", kSpecs, 3);
    const PredictionsWriter moved = std::move(writer);
    EXPECT_TRUE(std::filesystem::exists(partial_path(folder.path() / "p.h5")));
  }
  EXPECT_TRUE(folder.is_empty());
}

TEST(PredictionsWriter, ReplacesAnOlderFileOnlyOnPublishing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  std::ofstream(path) << "older";
  { PredictionsWriter writer(path, {}, 0); }
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "older");

  publish(PredictionsWriter(path, {}, 0));
  EXPECT_NO_THROW(hdf5::Reader{path});
}

TEST(PredictionsWriter, AFolderThatCannotBeWrittenIsAnOutputError) {
  try {
    PredictionsWriter writer("/nonexistent/p.h5", kSpecs, 3);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_THAT(error.what(), testing::HasSubstr("/nonexistent/p.h5"));
  }
}

TEST(PredictionsWriter, AFullDiskLeavesNothingWhereverItStrikes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.h5";
  const std::vector<double> rows(1000, 0.5);
  const auto write = [&] {
    PredictionsWriter writer(path, {{"a", DType::f64, {}}, {"b", DType::f64, {}}}, 1000);
    writer.append(0, 1000, bytes_of(rows));
    writer.append(1, 1000, bytes_of(rows));
    publish(writer, {{"model", "net.pt"}});
  };
  ASSERT_EQ(outcome_with_file_limit(1 << 20, write), kNoError);
  const auto whole = std::filesystem::file_size(path);
  for (std::uintmax_t limit = 0; limit < whole; limit += 1 + whole / 20) {
    std::filesystem::remove(path);
    EXPECT_EQ(outcome_with_file_limit(limit, write), exit_code(ErrorKind::output)) << limit;
    EXPECT_TRUE(folder.is_empty()) << limit;
  }
}

}  // namespace
}  // namespace tally::predictions
