// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <numeric>

#include <tally/base/error.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/predictions/predictions_writer.hpp>

#include "publish_predictions.hpp"
#include "temporary_folder.hpp"

namespace tally::predictions {
namespace {

using testing::ElementsAre;
using Lengths = std::vector<std::int64_t>;

const std::vector<ColumnSpec> kSpecs{
    {"answer2", DType::i64, {}}, {"answer", DType::u8, {}, true}, {"boxes", DType::f32, {2}, true}};
const std::vector<std::int64_t> kNumElements{0, 6, 2};

const std::vector<std::int64_t> kFixed{5, 6, 7};
const Lengths kAnswerLengths{3, 0, 3};
const std::string kAnswers = "abcdef";
const Lengths kBoxLengths{0, 2, 0};
const std::vector<float> kBoxes{1.F, 2.F, 3.F, 4.F};

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

void append_all(PredictionsWriter& writer) {
  writer.append(0, 3, bytes_of(kFixed));
  writer.append_lengths(1, 3, bytes_of(kAnswerLengths));
  writer.append_elements(1, 6, bytes_of(kAnswers));
  writer.append_lengths(2, 3, bytes_of(kBoxLengths));
  writer.append_elements(2, 2, bytes_of(kBoxes));
}

// Lengths and elements advance on their own, in pieces that cut rows.
void append_in_pieces(PredictionsWriter& writer) {
  writer.append_elements(1, 4, bytes_of(kAnswers).first(4));
  writer.append_lengths(2, 1, bytes_of(kBoxLengths).first(8));
  writer.append_lengths(2, 0, {});
  writer.append_elements(2, 1, bytes_of(kBoxes).first(8));
  writer.append_elements(2, 1, bytes_of(kBoxes).subspan(8));
  writer.append_lengths(2, 2, bytes_of(kBoxLengths).subspan(8));
  writer.append(0, 3, bytes_of(kFixed));
  writer.append_lengths(1, 2, bytes_of(kAnswerLengths).first(16));
  writer.append_elements(1, 2, bytes_of(kAnswers).subspan(4));
  writer.append_lengths(1, 1, bytes_of(kAnswerLengths).subspan(16));
}

TEST(RaggedWriter, WhatWasAppendedIsRead) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "predictions.h5";
  PredictionsWriter writer(path, kSpecs, 3, kNumElements);
  append_in_pieces(writer);
  publish(writer);

  const hdf5::Reader reader(path);
  EXPECT_THAT(reader.children("/"), ElementsAre("answer", "answer2", "boxes"));
  EXPECT_THAT(reader.children("/answer"), ElementsAre("offsets", "values"));
  EXPECT_EQ(reader.dataset("/answer/offsets").read_all<std::int64_t>(), (Lengths{0, 3, 3, 6}));
  const std::vector<std::uint8_t> answers(kAnswers.begin(), kAnswers.end());
  EXPECT_EQ(reader.dataset("/answer/values").read_all<std::uint8_t>(), answers);
  EXPECT_EQ(reader.dataset("/boxes/offsets").read_all<std::int64_t>(), (Lengths{0, 0, 2, 2}));
  EXPECT_EQ(reader.dataset("/boxes/values").read_all<float>(), kBoxes);
  EXPECT_EQ(reader.dataset("/boxes/values").info().shape, (Shape{2, 2}));
}

TEST(RaggedWriter, DigestIsTheDocumentedTextHoweverItIsAppended) {
  const TemporaryFolder folder;
  PredictionsWriter whole(folder.path() / "a.h5", kSpecs, 3, kNumElements);
  append_all(whole);
  PredictionsWriter pieces(folder.path() / "b.h5", kSpecs, 3, kNumElements);
  append_in_pieces(pieces);

  const auto hash = [](const auto& values) { return digest::sha256_hex(bytes_of(values)); };
  // By whole names: '/' comes before '2'.
  const std::string text =
      "answer/offsets\nint64\n[4]\n" + hash(Lengths{0, 3, 3, 6}) + "\nanswer/values\nuint8\n[6]\n" +
      hash(kAnswers) + "\nanswer2\nint64\n[3]\n" + hash(kFixed) + "\nboxes/offsets\nint64\n[4]\n" +
      hash(Lengths{0, 0, 2, 2}) + "\nboxes/values\nfloat32\n[2, 2]\n" + hash(kBoxes) + "\n";
  EXPECT_EQ(whole.digest(), digest::sha256_hex(text));
  EXPECT_EQ(pieces.digest(), digest::sha256_hex(text));
}

TEST(RaggedWriter, NoRowsHaveOneOffset) {
  const TemporaryFolder folder;
  publish(PredictionsWriter(folder.path() / "p.h5", {kSpecs[1]}, 0, {0}));
  const hdf5::Reader reader(folder.path() / "p.h5");
  EXPECT_EQ(reader.dataset("/answer/offsets").read_all<std::int64_t>(), Lengths{0});
  EXPECT_EQ(reader.dataset("/answer/values").info().shape, Shape{0});
}

TEST(RaggedWriter, ManyRowsAreWrittenInOrder) {
  const TemporaryFolder folder;
  Lengths lengths(20'001);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i % 3);
  const std::vector<std::uint8_t> bytes(20'001, 7);
  PredictionsWriter writer(folder.path() / "p.h5", {kSpecs[1]}, 20'001, {20'001});
  writer.append_elements(0, 20'001, bytes_of(bytes));
  writer.append_lengths(0, 20'001, bytes_of(lengths));
  publish(writer);

  Lengths offsets{0};
  std::partial_sum(lengths.begin(), lengths.end(), std::back_inserter(offsets));
  const hdf5::Reader reader(folder.path() / "p.h5");
  EXPECT_EQ(reader.dataset("/answer/offsets").read_all<std::int64_t>(), offsets);
}

ErrorKind kind_of_digest(const PredictionsWriter& writer) {
  try {
    (void)writer.digest();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::usage;
}

TEST(RaggedWriter, IncompleteColumnsAreRefused) {
  const TemporaryFolder folder;
  const std::vector<ColumnSpec> specs{kSpecs[1], kSpecs[0]};
  {
    PredictionsWriter writer(folder.path() / "p.h5", specs, 3, {6, 0});
    writer.append(1, 3, bytes_of(kFixed));
    writer.append_elements(0, 6, bytes_of(kAnswers));
    EXPECT_EQ(kind_of_digest(writer), ErrorKind::internal);  // lengths are missing
    writer.append_lengths(0, 2, bytes_of(kAnswerLengths).first(16));
    EXPECT_EQ(kind_of_digest(writer), ErrorKind::internal);
    EXPECT_THROW(publish(writer), Error);
    EXPECT_THROW(writer.append_lengths(0, 1, bytes_of(Lengths{4})), Error);  // beyond the last
    EXPECT_THROW(writer.append_lengths(0, 1, bytes_of(Lengths{-1})), Error);
    EXPECT_THROW(writer.append_lengths(0, 2, bytes_of(Lengths{3})), Error);
    EXPECT_THROW(writer.append_elements(0, 1, bytes_of(kAnswers).first(1)), Error);
    EXPECT_THROW(writer.append(0, 1, bytes_of(kAnswers).first(1)), Error);
    EXPECT_THROW(writer.append_lengths(1, 1, bytes_of(Lengths{0})), Error);
    EXPECT_THROW(writer.append_elements(1, 1, bytes_of(Lengths{0})), Error);
    writer.append_lengths(0, 1, bytes_of(Lengths{2}));
    EXPECT_EQ(kind_of_digest(writer), ErrorKind::internal);  // of 6 elements no row has the last
  }
  {
    PredictionsWriter writer(folder.path() / "p.h5", {kSpecs[1]}, 3, {6});
    writer.append_lengths(0, 3, bytes_of(kAnswerLengths));
    writer.append_elements(0, 5, bytes_of(kAnswers).first(5));
    EXPECT_EQ(kind_of_digest(writer), ErrorKind::internal);
  }
  EXPECT_TRUE(folder.is_empty());
}

}  // namespace
}  // namespace tally::predictions
