// SPDX-License-Identifier: Apache-2.0
// What readers refuse in the targets of binary, multilabel and regression.
#include <gtest/gtest.h>

#include "change.hpp"

namespace tally::data {
namespace {

// The good file turned into one of another task, whose label has this type and shape.
void become(hid_t file, const char* task, std::int64_t num_classes, hid_t type,
            const raw::Dims& dims) {
  raw::text(file, "/", "task", task);
  raw::remove(file, "/class_names");
  set_int(file, "/", "num_classes", num_classes);
  replace(file, "/targets/label", type, dims);
}

INSTANTIATE_TEST_SUITE_P(
    Binary, Refusals,
    testing::Values(Change{"binary_of_three",
                           {"has num_classes 3, expected 2 for the task binary"},
                           [](hid_t f) { become(f, "binary", 3, H5T_STD_I64LE, {10}); }},
                    Change{"binary_of_one",
                           {"has num_classes 1, expected 2 for the task binary"},
                           [](hid_t f) { become(f, "binary", 1, H5T_STD_I64LE, {10}); }},
                    Change{"binary_flags",
                           {"/targets/label holds uint8, expected int64"},
                           [](hid_t f) { become(f, "binary", 2, H5T_STD_U8LE, {10}); }},
                    Change{"binary_one_hot",
                           {"/targets/label has shape [10, 2], expected [N] for 2 classes"},
                           [](hid_t f) {
                             become(f, "binary", 2, H5T_STD_I64LE, {10, 2});
                           }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Multilabel, Refusals,
    testing::Values(
        Change{"no_labels_at_all",
               {"has num_classes 0, expected 1 to 2147483647 for the task multilabel"},
               [](hid_t f) {
                 become(f, "multilabel", 0, H5T_STD_U8LE, {10, 1});
               }},
        Change{"too_many_labels",
               {"has num_classes 2147483648, expected 1 to 2147483647 for the task multilabel"},
               [](hid_t f) { become(f, "multilabel", std::int64_t{1} << 31, H5T_STD_U8LE, {10}); }},
        Change{"labels_of_int64",
               {"/targets/label holds int64, expected uint8"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_I64LE, {10, 3});
               }},
        Change{"labels_of_int8",
               {"/targets/label holds int8, expected uint8"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_I8LE, {10, 3});
               }},
        Change{"labels_missing",
               {"/targets/label has shape [10, 2], expected [N, 3] for 3 labels"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 2});
               }},
        Change{"one_label_without_its_dimension",
               {"/targets/label has shape [10], expected [N, 1] for 1 label"},
               [](hid_t f) { become(f, "multilabel", 1, H5T_STD_U8LE, {10}); }},
        Change{"labels_of_rank_three",
               {"/targets/label has shape [10, 3, 1], expected [N, 3]"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 3, 1});
               }},
        Change{"labels_scalar",
               {"/targets/label has shape [], expected [N, 3]"},
               [](hid_t f) { become(f, "multilabel", 3, H5T_STD_U8LE, {}); }},
        Change{"labels_of_fewer_samples",
               {"/targets/label has 9 rows, but /inputs/image has 10"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {9, 3});
               }},
        Change{"labels_bomb",
               {"/targets/label has no storage"},
               [](hid_t f) {
                 become(f, "multilabel", 2147483647, H5T_STD_U8LE, {1});
                 raw::remove(f, "/targets/label");
                 raw::dataset(f, "/targets/label", H5T_STD_U8LE, {10, 2147483647}, nullptr);
               }},
        Change{"ignoring_what_is_scored",
               {"has ignore_index 1, expected 2 to 255 for the task multilabel"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 3});
                 set_int(f, "/", "ignore_index", 1);
               }},
        Change{"ignoring_what_no_byte_holds",
               {"has ignore_index -100, expected 2 to 255 for the task multilabel"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 3});
                 set_int(f, "/", "ignore_index", -100);
               }},
        Change{"ignoring_more_than_a_byte",
               {"has ignore_index 256, expected 2 to 255 for the task multilabel"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 3});
                 set_int(f, "/", "ignore_index", 256);
               }},
        Change{"units_of_labels",
               {"/targets/unit is there, but multilabel is scored by rows"},
               [](hid_t f) {
                 become(f, "multilabel", 3, H5T_STD_U8LE, {10, 3});
                 raw::dataset(f, "/targets/unit", H5T_STD_I64LE, {10},
                              std::vector<std::int64_t>(10).data());
               }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Regression, Refusals,
    testing::Values(
        Change{"no_outputs",
               {"has num_classes 0, expected 1 to 2147483647 for the task regression"},
               [](hid_t f) { become(f, "regression", 0, H5T_IEEE_F32LE, {10}); }},
        Change{"values_missing",
               {"/targets/label has shape [10, 2], expected [N, 3] for 3 outputs"},
               [](hid_t f) {
                 become(f, "regression", 3, H5T_IEEE_F32LE, {10, 2});
               }},
        Change{"one_value_of_three",
               {"/targets/label has shape [10], expected [N, 3] for 3 outputs"},
               [](hid_t f) { become(f, "regression", 3, H5T_IEEE_F32LE, {10}); }},
        Change{"two_values_of_one",
               {"/targets/label has shape [10, 2], expected [N], [N, 1] or [N, height, width] "
                "for 1 output"},
               [](hid_t f) {
                 become(f, "regression", 1, H5T_IEEE_F32LE, {10, 2});
               }},
        Change{"values_of_float64",
               {"/targets/label holds float64, expected float32"},
               [](hid_t f) { become(f, "regression", 1, H5T_IEEE_F64LE, {10}); }},
        Change{"values_of_int32",
               {"/targets/label holds int32, expected float32"},
               [](hid_t f) { become(f, "regression", 1, H5T_STD_I32LE, {10}); }},
        Change{"values_big_endian",
               {"/targets/label holds big-endian float32 elements"},
               [](hid_t f) { become(f, "regression", 1, H5T_IEEE_F32BE, {10}); }},
        Change{"values_ignored",
               {"has ignore_index -1, but the task regression scores every target"},
               [](hid_t f) {
                 become(f, "regression", 1, H5T_IEEE_F32LE, {10});
                 set_int(f, "/", "ignore_index", -1);
               }},
        Change{"output_names",
               {"/class_names has shape [5], expected [3] (num_classes)"},
               [](hid_t f) {
                 raw::text(f, "/", "task", "regression");
                 set_int(f, "/", "num_classes", 3);
               }},
        Change{"targets_missing",
               {"/targets/label is missing; the task regression needs it"},
               [](hid_t f) {
                 raw::text(f, "/", "task", "regression");
                 raw::remove(f, "/targets");
               }}),
    change_name);

}  // namespace
}  // namespace tally::data
