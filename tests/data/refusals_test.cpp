// SPDX-License-Identifier: Apache-2.0
// Everything SCHEMA.md says readers refuse: one good file, one change, one sentence.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <tally/data/data_set.hpp>

#include "change.hpp"
#include "expect_error.hpp"
#include "sample_file.hpp"

namespace tally::data {
namespace {

TEST_P(Refusals, NameFileObjectFoundAndExpected) {
  const raw::TemporaryFolder folder;
  SampleFile{.rows_per_block = 4}.write(folder / "val.h5");
  ASSERT_NO_THROW(DataSet(folder / "val.h5"));
  raw::edit(folder / "val.h5", GetParam().apply);

  auto parts = GetParam().message;
  parts.push_back("data set '" + (folder / "val.h5").string() + "'");
  expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / "val.h5"); });
}

INSTANTIATE_TEST_SUITE_P(
    Root, Refusals,
    testing::Values(Change{"no_schema",
                           {"has no root attribute 'tally_schema'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "tally_schema"); }},
                    Change{"schema_2",
                           {"has tally_schema 2, expected 1"},
                           [](hid_t f) { set_int(f, "/", "tally_schema", 2); }},
                    Change{"schema_text",
                           {"'tally_schema' is string, expected one integer"},
                           [](hid_t f) { raw::text(f, "/", "tally_schema", "1"); }},
                    Change{"no_task",
                           {"has no root attribute 'task'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "task"); }},
                    Change{"other_task",
                           {"the task 'ranking', which this version does not evaluate",
                            "It evaluates: binary, detection, language-model, multiclass, "
                            "multilabel, multiple-choice, predict, question-answering, "
                            "regression, segmentation, token-classification."},
                           [](hid_t f) { raw::text(f, "/", "task", "ranking"); }},
                    Change{"hostile_task",
                           {"the task 'a\\x1b[2J'"},
                           [](hid_t f) { raw::text(f, "/", "task", "a\x1b[2J"); }},
                    Change{"no_num_classes",
                           {"has no root attribute 'num_classes'"},
                           [](hid_t f) { raw::remove_attribute(f, "/", "num_classes"); }},
                    Change{"one_class",
                           {"has num_classes 1, expected 2 to 2147483647"},
                           [](hid_t f) { set_int(f, "/", "num_classes", 1); }},
                    Change{"negative_classes",
                           {"has num_classes -5"},
                           [](hid_t f) { set_int(f, "/", "num_classes", -5); }},
                    Change{"class_names_length",
                           {"/class_names has shape [5], expected [6]"},
                           [](hid_t f) { set_int(f, "/", "num_classes", 6); }},
                    Change{"class_names_type",
                           {"/class_names holds int64, expected string"},
                           [](hid_t f) { replace(f, "/class_names", H5T_STD_I64LE, {5}); }}),
    change_name);

constexpr char kTable[] = "/checksums/inputs/image";

INSTANTIATE_TEST_SUITE_P(
    Checksums, Refusals,
    testing::Values(
        Change{"table_type",
               {"/checksums/inputs/image holds int32, expected uint32"},
               [](hid_t f) { replace(f, kTable, H5T_STD_I32LE, {3}); }},
        Change{"table_length",
               {"/checksums/inputs/image has shape [3], expected [4]: 10 rows in blocks of 3"},
               [](hid_t f) { set_int(f, kTable, "rows_per_block", 3); }},
        Change{"no_rows_per_block",
               {"/checksums/inputs/image has no attribute 'rows_per_block'"},
               [](hid_t f) { raw::remove_attribute(f, kTable, "rows_per_block"); }},
        Change{"rows_per_block_0",
               {"attribute 'rows_per_block' is 0, expected 1 or more"},
               [](hid_t f) { set_int(f, kTable, "rows_per_block", 0); }},
        Change{"large_blocks",
               {"/checksums/inputs/x attribute 'rows_per_block' is 10, of rows of 7000000 bytes; "
                "expected blocks of at most 67108864 bytes"},
               [](hid_t f) {
                 raw::declared(f, "/inputs/x", H5T_STD_U8LE, {10, 7'000'000});
                 raw::dataset(f, "/checksums/inputs/x", H5T_STD_U32LE, {1}, "abcd");
                 set_int(f, "/checksums/inputs/x", "rows_per_block", 10);
               }},
        Change{"orphan",
               {"/checksums/inputs/gone is a checksum table of /inputs/gone, which does"},
               [](hid_t f) {
                 raw::dataset(f, "/checksums/inputs/gone", H5T_STD_U32LE, {1}, "abcd");
               }}),
    change_name);

TEST(RefusedFiles, AreToldApart) {
  const raw::TemporaryFolder folder;
  const auto refused = [&](const char* name, const std::vector<std::string>& parts) {
    expect_error(ErrorKind::dataset, parts, [&] { DataSet data_set(folder / name); });
  };
  refused("none.h5", {"none.h5' does not exist"});
  std::filesystem::create_directory(folder / "folder.h5");
  refused("folder.h5", {"is a folder"});
  std::ofstream(folder / "empty.h5").flush();
  refused("empty.h5", {"is empty"});
  std::ofstream(folder / "text.h5") << "not a data set";
  refused("text.h5", {"is not an HDF5 file"});
  SampleFile().write(folder / "cut.h5");
  const auto whole = std::filesystem::file_size(folder / "cut.h5");
  std::filesystem::resize_file(folder / "cut.h5", whole / 2);
  refused("cut.h5", {"is truncated", std::to_string(whole), std::to_string(whole / 2)});
  raw::create(folder / "other.h5", [](hid_t) {});
  refused("other.h5", {"has no root attribute 'tally_schema'", "data_tools"});
}

}  // namespace
}  // namespace tally::data
