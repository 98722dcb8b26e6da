// SPDX-License-Identifier: Apache-2.0
// Headers of .npy files: those of numpy and of other writers, damaged ones, and ones that lie.
#include "npy_header.hpp"

#include <gmock/gmock.h>

#include <limits>

#include <tally/base/format.hpp>

#include "mutator.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As numpy.save() writes it, but for what fills it up to 64 bytes.
const std::string kOfNumpy = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }\n";

std::string little_endian(std::size_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

std::string with_preamble(const std::string& entries, int major = 1) {
  return "\x93NUMPY" + std::string{static_cast<char>(major), '\0'} +
         little_endian(entries.size(), major == 1 ? 2 : 4) + entries;
}

std::variant<NpyHeader, NpyRefusal> parse_npy(const std::string& begin, std::int64_t data_bytes) {
  return parse_npy_header(begin, std::ssize(begin) + data_bytes);
}

TEST(NpyHeaderTest, EachVersionIsRead) {
  for (const int major : {1, 2, 3}) {
    const auto begin = with_preamble(kOfNumpy, major);
    const auto parsed = parse_npy(begin, 60);
    const auto* header = std::get_if<NpyHeader>(&parsed);
    ASSERT_NE(header, nullptr) << major;
    EXPECT_EQ(header->dtype, DType::f32);
    EXPECT_THAT(header->shape, ElementsAre(3, 5));
    EXPECT_EQ(header->data_offset, std::ssize(begin));
  }
}

TEST(NpyHeaderTest, OtherWritersMayWriteItOtherwise) {
  for (const std::string entries : {
           R"({"shape":(7,),"fortran_order":False,"descr":"<i8"})",
           "{ 'fortran_order' : False , 'descr' : '<i8' , 'shape' : ( 7 , ) }   \n\n",
           "{'descr': '<i8', 'shape': (7,), 'fortran_order': False}",
       }) {
    const auto parsed = parse_npy(with_preamble(entries), 56);
    const auto* header = std::get_if<NpyHeader>(&parsed);
    ASSERT_NE(header, nullptr) << entries;
    EXPECT_EQ(header->dtype, DType::i64);
    EXPECT_THAT(header->shape, ElementsAre(7));
  }
}

TEST(NpyHeaderTest, AsManyDimensionsAsNumpyAllows) {
  std::string ones;
  for (int i = 0; i < 64; ++i) ones += "1,";
  const auto parsed = parse_npy(
      with_preamble("{'descr': '|u1', 'fortran_order': False, 'shape': (" + ones + ")}"), 1);
  ASSERT_TRUE(std::holds_alternative<NpyHeader>(parsed));
}

TEST(NpyHeaderTest, TypesAreThoseThatModelsReturn) {
  const auto type_of = [](const std::string& descr, std::int64_t bytes) {
    const auto parsed = parse_npy(
        with_preamble("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}"), bytes);
    const auto* header = std::get_if<NpyHeader>(&parsed);
    return header == nullptr ? std::get<NpyRefusal>(parsed).problem
                             : std::string(name(header->dtype));
  };
  EXPECT_EQ(type_of("|u1", 2), "uint8");
  EXPECT_EQ(type_of("|i1", 2), "int8");
  EXPECT_EQ(type_of("<i2", 4), "int16");
  EXPECT_EQ(type_of("<i4", 8), "int32");
  EXPECT_EQ(type_of("<i8", 16), "int64");
  EXPECT_EQ(type_of("<f4", 8), "float32");
  EXPECT_EQ(type_of("<f8", 16), "float64");
  for (const std::string descr :
       {"<f2", "<f16", "|b1", "<u2", "<u8", "<c8", "|O", "|S4", "<U4", ">f4", "=f4", "f4", "x\n"}) {
    EXPECT_THAT(type_of(descr, 4), HasSubstr("expected float32, uint8")) << descr;
  }
}

struct NoArray {
  const char* name;
  std::string begin;
  std::int64_t data_bytes;
  std::string problem, next_step;
};

class RefusedNpyTest : public testing::TestWithParam<NoArray> {};

TEST_P(RefusedNpyTest, SaysWhatToDo) {
  const auto parsed = parse_npy(GetParam().begin, GetParam().data_bytes);
  const auto* refusal = std::get_if<NpyRefusal>(&parsed);
  ASSERT_NE(refusal, nullptr);
  EXPECT_THAT(refusal->problem, HasSubstr(GetParam().problem));
  EXPECT_THAT(refusal->next_step, HasSubstr(GetParam().next_step));
}

std::string npy_entries(const std::string& descr, const std::string& order,
                        const std::string& shape) {
  return with_preamble(
      format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape));
}
std::string of_shape(const std::string& shape) { return npy_entries("'<f4'", "False", shape); }

std::string many_ones(int count) {
  std::string shape = "(";
  for (int i = 0; i < count; ++i) shape += "1, ";
  return shape + ")";
}

constexpr const char* kDamaged = "damaged .npy header";

INSTANTIATE_TEST_SUITE_P(
    Headers, RefusedNpyTest,
    testing::Values(
        NoArray{"Empty", "", 0, "is no .npy file", "tally inspect"},
        NoArray{"OtherFile", "PK\3\4", 100, "is no .npy file", ""},
        NoArray{"SignatureAlone", "\x93NUMPY", 0, kDamaged, "again"},
        NoArray{"NoLength", "\x93NUMPY\1" + std::string(1, '\0'), 0, kDamaged, ""},
        NoArray{"Version", "\x93NUMPY\4" + std::string(50, '\0'), 0, "version 4.0", ""},
        NoArray{"MinorVersion", "\x93NUMPY\1\1" + std::string(50, '\0'), 0, "version 1.1", ""},
        NoArray{"CutHeader", with_preamble(kOfNumpy).substr(0, 40), 0, kDamaged, ""},
        NoArray{"LongestHeader", "\x93NUMPY\2" + std::string(1, '\0') + "\xFF\xFF\xFF\xFF", 0,
                kDamaged, ""},
        NoArray{"NoEntries", with_preamble("{}"), 0, kDamaged, ""},
        NoArray{"NoDictionary", with_preamble("[1, 2]"), 0, kDamaged, ""},
        NoArray{"MoreBehindIt",
                with_preamble("{'descr': '<f4', 'fortran_order': False, 'shape': "
                              "(1,)} + 1"),
                4, kDamaged, ""},
        NoArray{"KeyTwice",
                with_preamble("{'shape': (1,), 'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2,)}"),
                8, kDamaged, ""},
        NoArray{"OtherKey",
                with_preamble("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), "
                              "'more': 1}"),
                4, kDamaged, ""},
        NoArray{"NoTuple", of_shape("(4)"), 16, kDamaged, ""},
        NoArray{"NegativeSize", of_shape("(-4,)"), 16, kDamaged, ""},
        NoArray{"SizeOfPython2", of_shape("(4L,)"), 16, kDamaged, ""},
        NoArray{"SizeBeyondIntegers", of_shape("(9223372036854775808,)"), 16, kDamaged, ""},
        NoArray{"TooManyDimensions", of_shape(many_ones(65)), 4, kDamaged, ""},
        NoArray{"OverflowingProduct", of_shape("(4294967296, 4294967296)"), 0, "more than 2^63",
                "again"},
        NoArray{"OverflowToTheFilesSize", of_shape("(4611686018427387905,)"), 4, "more than 2^63",
                ""},
        NoArray{"FewerBytes", of_shape("(3, 5)"), 59, "60 bytes, but holds 59", "again"},
        NoArray{"MoreBytes", of_shape("(3, 5)"), 61, "60 bytes, but holds 61", ""},
        NoArray{"Scalar", of_shape("()"), 4, "a single number", ""},
        NoArray{"FortranOrder", npy_entries("'<f4'", "True", "(3, 5)"), 60, "fortran_order",
                "ascontiguousarray"},
        NoArray{"BigEndian", npy_entries("'>f8'", "False", "(3, 5)"), 120, "holds '>f8'",
                "values.astype('<f8')"},
        NoArray{"Objects", npy_entries("'|O'", "False", "(3,)"), 60, "holds '|O'", "astype"},
        NoArray{"Half", npy_entries("'<f2'", "False", "(3,)"), 6, "holds '<f2'", "numpy.float32"},
        NoArray{"Records", npy_entries("[('a', '<f4'), ('b', '<i8')]", "False", "(3,)"), 36,
                "holds records", "fields"}),
    [](const auto& tested) { return tested.param.name; });

// What is accepted is what the file holds, however a header was damaged.
TEST(NpyHeaderTest, DamagedHeadersNeverLeadOutsideTheFile) {
  Mutator mutator(7);
  const std::string whole = with_preamble(kOfNumpy) + std::string(60, 'x');
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto damaged = mutator.damage(whole);
    const auto parsed = parse_npy_header(damaged, std::ssize(damaged));
    const auto* header = std::get_if<NpyHeader>(&parsed);
    if (header == nullptr) {
      EXPECT_FALSE(std::get<NpyRefusal>(parsed).problem.empty());
      continue;
    }
    ++accepted;
    ASSERT_FALSE(header->shape.empty());
    ASSERT_EQ(header->data_offset + num_elements(header->shape) * size_bytes(header->dtype),
              std::ssize(damaged));
  }
  EXPECT_GT(accepted, 100) << "as where only a number was damaged";
}

}  // namespace
}  // namespace tally::app
