// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include <tally/data/add_checksums.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/describe_data_set.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/hdf5/reader.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Structure : public testing::Test {
 protected:
  // A data set with checksums of columns and structure.
  Structure() {
    SampleFile{.rows_per_block = 4}.write(folder_ / "columns.h5");
    add_checksums(folder_ / "columns.h5", path_);
  }
  // Opens it after `change`.
  DataSet opened_after(const std::function<void(hid_t)>& change) {
    std::filesystem::copy_file(path_, folder_ / "changed.h5",
                               std::filesystem::copy_options::overwrite_existing);
    raw::edit(folder_ / "changed.h5", change);
    return DataSet(folder_ / "changed.h5");
  }
  void refused_after(const std::function<void(hid_t)>& change) {
    expect_error(ErrorKind::dataset,
                 {"changed.h5' was changed or damaged: its attributes, names and shapes", "SHA-256",
                  "expected", "structure_sha256", "--add-checksums"},
                 [&] { opened_after(change); });
  }

  raw::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "checked.h5";
};

// Length before content, as SCHEMA.md says.
std::string field(std::string_view content) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(std::uint64_t{content.size()} >> (8 * i));
  }
  return bytes.append(content);
}

std::string number(std::uint64_t bits) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
  return bytes;
}

TEST_F(Structure, TheDigestIsOfTheBytesThatTheSchemaSays) {
  const auto path = folder_ / "small.h5";
  raw::create(path, [](hid_t file) {
    const std::vector<std::int64_t> labels{0, 1};
    const std::vector<float> values{0.5F, 1.5F};
    raw::text(file, "/", "task", "regression");
    set_int(file, "/", "tally_schema", 1);
    set_int(file, "/", "num_classes", 1);
    raw::dataset(file, "/inputs/x", H5T_STD_I64LE, {2}, labels.data());
    raw::dataset(file, "/targets/label", H5T_IEEE_F32LE, {2}, values.data());
    const double half = 0.5;
    raw::attribute(file, "/inputs/x", "note", H5T_IEEE_F64LE, {}, &half);
  });
  add_checksums(path, folder_ / "small-checked.h5");
  const auto attribute = [](std::string_view name, std::string_view kind, std::string_view bytes) {
    return field("attribute") + field(name) + field(kind) + field("") + field(bytes);
  };
  const std::string expected =
      field("object") + field("/") + field("") + field("") +
      attribute("num_classes", "integer", number(1)) +
      attribute("tally_schema", "integer", number(1)) +
      attribute("task", "string", field("regression")) + field("object") + field("/inputs/x") +
      field("int64") + field(number(2)) + attribute("note", "float", number(0x3fe0000000000000)) +
      field("object") + field("/targets/label") + field("float32") + field(number(2));
  EXPECT_EQ(
      hdf5::Reader(folder_ / "small-checked.h5").string_attribute("/checksums", "structure_sha256"),
      digest::sha256_hex(expected));
}

TEST_F(Structure, EveryBitOfTheNormalisationCounts) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const double scale = 1.0 / 255;
    const double other = std::bit_cast<double>(std::bit_cast<std::uint64_t>(scale) ^ (1ULL << bit));
    const auto change = [&](hid_t file) {
      raw::attribute(file, "/inputs/image", "scale", H5T_IEEE_F64LE, {}, &other);
    };
    // Some are refused for what they are: negative, infinite.
    expect_error(ErrorKind::dataset, {"changed.h5'"}, [&] { opened_after(change); });
  }
  refused_after([](hid_t file) { set_doubles(file, "mean", {0.5, 0.25, 0.1250001}); });
  refused_after([](hid_t file) { set_doubles(file, "std", {1, 2, 4.5}); });
}

TEST_F(Structure, NamesShapesAndAttributesOfAnyKindCount) {
  refused_after([](hid_t file) { raw::text(file, "/inputs/image", "channels", "BGR"); });
  refused_after([](hid_t file) { raw::text(file, "/inputs/image", "origin", "a camera"); });
  refused_after([](hid_t file) { set_int(file, "/", "ignore_index", 3); });
  refused_after([](hid_t file) { set_int(file, "/", "note", 3); });
  refused_after([](hid_t file) { raw::remove(file, "/checksums/targets/label"); });
  refused_after([](hid_t file) {
    raw::remove(file, "/groups/camera");
    raw::remove(file, "/checksums/groups/camera");
  });
  refused_after([](hid_t file) { raw::remove(file, "/class_names"); });
  refused_after([](hid_t file) {
    const hid_t names = raw::ok(H5Dopen2(file, "/class_names", H5P_DEFAULT));
    const hid_t type = raw::ok(H5Dget_type(names));
    std::string texts(5 * H5Tget_size(type), 'x');
    raw::ok(H5Dwrite(names, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()));
    H5Tclose(type);
    H5Dclose(names);
  });
  refused_after([](hid_t file) {
    raw::ok(H5Lmove(file, "/groups/camera", file, "/groups/lens", H5P_DEFAULT, H5P_DEFAULT));
    raw::ok(H5Lmove(file, "/checksums/groups/camera", file, "/checksums/groups/lens", H5P_DEFAULT,
                    H5P_DEFAULT));
  });
  refused_after([](hid_t file) {
    raw::text(file, "/checksums", "structure_sha256", std::string(64, '0'), H5T_STR_NULLPAD, 64);
  });
}

TEST_F(Structure, HowTheSameIsStoredDoesNotCount) {
  const DataSet same = opened_after([](hid_t file) {
    raw::text(file, "/inputs/image", "layout", "HWC", H5T_STR_SPACEPAD, 9);
    const std::int8_t five = 5;
    raw::attribute(file, "/", "num_classes", H5T_STD_I8LE, {}, &five);
  });
  EXPECT_EQ(same.info().integrity(), "checked");
}

TEST_F(Structure, AnAddedColumnLeavesTheOthersAsTheyWere) {
  const DataSet more = opened_after([](hid_t file) {
    const std::vector<std::int32_t> codes(10, 1);
    raw::dataset(file, "/groups/site", H5T_STD_I32LE, {10}, codes.data());
  });
  EXPECT_EQ(more.info().columns.groups.size(), 2U);
  EXPECT_EQ(more.info().integrity(), "unchecked");
}

TEST_F(Structure, SetsWithTablesAloneAreColumnsChecked) {
  DataSet columns(folder_ / "columns.h5"), checked(path_);
  EXPECT_EQ(columns.info().integrity(), "columns checked");
  EXPECT_EQ(checked.info().integrity(), "checked");
  EXPECT_EQ(columns.identity(), checked.identity());
  EXPECT_THAT(describe(columns),
              Contains(testing::AllOf(HasSubstr("integrity: columns checked, 3 of 3 columns"),
                                      HasSubstr("names and shapes have none (--add-checksums"))));
  EXPECT_THAT(describe(checked),
              Contains(testing::AllOf(HasSubstr("integrity: checked, 3 of 3 columns"),
                                      HasSubstr("names and shapes match theirs"))));
  SampleFile{}.write(folder_ / "plain.h5");
  EXPECT_EQ(DataSet(folder_ / "plain.h5").info().integrity(), "unchecked");
}

TEST_F(Structure, DamageIsNotBlessedByACheckedCopy) {
  EXPECT_ANY_THROW(opened_after([](hid_t file) { set_doubles(file, "mean", {0.5, 0.25, 1}); }));
  expect_error(ErrorKind::dataset, {"changed.h5' was changed or damaged"},
               [&] { add_checksums(folder_ / "changed.h5", folder_ / "copy.h5"); });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.h5"));
  // What was changed on purpose: without the digest its columns are still checked.
  raw::edit(folder_ / "changed.h5",
            [](hid_t file) { raw::remove_attribute(file, "/checksums", "structure_sha256"); });
  EXPECT_EQ(DataSet(folder_ / "changed.h5").info().integrity(), "columns checked");
  add_checksums(folder_ / "changed.h5", folder_ / "copy.h5");
  const DataSet copy(folder_ / "copy.h5");
  EXPECT_EQ(copy.info().integrity(), "checked");
  EXPECT_EQ(copy.info().columns.inputs[0].image->mean, (std::vector<double>{0.5, 0.25, 1}));
}

}  // namespace
}  // namespace tally::data
