// SPDX-License-Identifier: Apache-2.0
// What readers refuse in columns, image attributes and storage.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "change.hpp"

namespace tally::data {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Columns, Refusals,
    testing::Values(
        Change{
            "no_inputs", {"/inputs holds no dataset"}, [](hid_t f) { raw::remove(f, "/inputs"); }},
        Change{"empty_inputs",
               {"/inputs holds no dataset"},
               [](hid_t f) { raw::remove(f, "/inputs/image"); }},
        Change{"zero_samples",
               {"/inputs/image has no rows: there are 0 samples"},
               [](hid_t f) {
                 replace(f, "/inputs/image", H5T_STD_U8LE, {0, 4, 3, 3});
               }},
        Change{"empty_rows",
               {"/inputs/image has shape [10, 0, 3, 3]"},
               [](hid_t f) {
                 replace(f, "/inputs/image", H5T_STD_U8LE, {10, 0, 3, 3});
               }},
        Change{"scalar",
               {"/inputs/image is a scalar"},
               [](hid_t f) { replace(f, "/inputs/image", H5T_STD_U8LE, {}); }},
        Change{
            "input_type",
            {"/inputs/x holds uint16, expected uint8, int8, int16, int32, int64, float32, float64"},
            [](hid_t f) {
              raw::dataset(f, "/inputs/x", H5T_STD_U16LE, {10}, "0123456789abcdefghij");
            }},
        Change{"input_big_endian",
               {"/inputs/image holds big-endian float32 elements"},
               [](hid_t f) {
                 replace(f, "/inputs/image", H5T_IEEE_F32BE, {10, 2});
               }},
        Change{"input_is_group",
               {"/inputs/x is not a dataset"},
               [](hid_t f) { raw::dataset(f, "/inputs/x/values", H5T_STD_U8LE, {3}, "abc"); }},
        Change{"input_name",
               {"/inputs holds '1st\\x07', expected names of"},
               [](hid_t f) { raw::dataset(f, "/inputs/1st\x07", H5T_STD_U8LE, {3}, "abc"); }},
        Change{"no_label",
               {"/targets/label is missing; the task multiclass needs it"},
               [](hid_t f) { raw::remove(f, "/targets/label"); }},
        Change{"units",
               {"/targets/unit is there, but multiclass is scored by rows"},
               [](hid_t f) {
                 raw::dataset(f, "/targets/unit", H5T_STD_I64LE, {10},
                              std::vector<std::int64_t>(10).data());
               }},
        Change{"no_targets",
               {"/targets/label is missing"},
               [](hid_t f) { raw::remove(f, "/targets"); }},
        Change{
            "label_type",
            {"/targets/label holds int32, expected int64. Write it with the scripts of data_tools "
             "(data_tools/SCHEMA.md)."},
            [](hid_t f) { replace(f, "/targets/label", H5T_STD_I32LE, {10}); }},
        Change{"label_rank",
               {"/targets/label has shape [10, 1], expected [N]"},
               [](hid_t f) {
                 replace(f, "/targets/label", H5T_STD_I64LE, {10, 1});
               }},
        Change{"label_length",
               {"/targets/label has 9 rows, but /inputs/image has 10"},
               [](hid_t f) { replace(f, "/targets/label", H5T_STD_I64LE, {9}); }},
        Change{"no_labels",
               {"/targets/label has no rows"},
               [](hid_t f) { replace(f, "/targets/label", H5T_STD_I64LE, {0}); }},
        Change{"input_lengths",
               {"/inputs/x has 3 rows, but /inputs/image has 10"},
               [](hid_t f) { raw::dataset(f, "/inputs/x", H5T_STD_U8LE, {3}, "abc"); }},
        Change{"group_type",
               {"/groups/camera holds int64, expected int32"},
               [](hid_t f) { replace(f, "/groups/camera", H5T_STD_I64LE, {10}); }},
        Change{"group_length",
               {"/groups/camera has 11 rows, but /inputs/image has 10"},
               [](hid_t f) { replace(f, "/groups/camera", H5T_STD_I32LE, {11}); }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Image, Refusals,
    testing::Values(Change{"no_layout",
                           {"/inputs/image has no attribute 'layout'. Write it with the scripts"},
                           [](hid_t f) { raw::remove_attribute(f, "/inputs/image", "layout"); }},
                    Change{"layout_chw",
                           {"/inputs/image attribute 'layout' is 'CHW', expected 'HWC'"},
                           [](hid_t f) { raw::text(f, "/inputs/image", "layout", "CHW"); }},
                    Change{"no_channels",
                           {"/inputs/image has no attribute 'channels'"},
                           [](hid_t f) { raw::remove_attribute(f, "/inputs/image", "channels"); }},
                    Change{"odd_channels",
                           {"attribute 'channels' is 'CMYK', expected 'RGB', 'BGR' or 'L'"},
                           [](hid_t f) { raw::text(f, "/inputs/image", "channels", "CMYK"); }},
                    Change{"grey_of_three",
                           {"/inputs/image has rows of shape [4, 3, 3], expected [H, W, 1] (L)"},
                           [](hid_t f) { raw::text(f, "/inputs/image", "channels", "L"); }},
                    Change{"no_scale",
                           {"/inputs/image has no attribute 'scale'"},
                           [](hid_t f) { raw::remove_attribute(f, "/inputs/image", "scale"); }},
                    Change{"scale_zero",
                           {"attribute 'scale' holds 0, expected finite numbers above 0"},
                           [](hid_t f) { set_doubles(f, "scale", {0.0}); }},
                    Change{"scale_integer",
                           {"attribute 'scale' is int64, expected float64"},
                           [](hid_t f) { set_int(f, "/inputs/image", "scale", 1); }},
                    Change{"no_mean",
                           {"/inputs/image has no attribute 'mean'"},
                           [](hid_t f) { raw::remove_attribute(f, "/inputs/image", "mean"); }},
                    Change{"mean_length",
                           {"attribute 'mean' has 2 values, expected 3 (channels)"},
                           [](hid_t f) {
                             set_doubles(f, "mean", {0, 0});
                           }},
                    Change{"mean_infinite",
                           {"attribute 'mean' holds inf, expected finite numbers"},
                           [](hid_t f) {
                             set_doubles(f, "mean", {0, INFINITY, 0});
                           }},
                    Change{"std_length",
                           {"attribute 'std' has 1 values, expected 3 (channels)"},
                           [](hid_t f) { set_doubles(f, "std", {1}); }},
                    Change{"std_zero",
                           {"attribute 'std' holds 0, expected finite numbers above 0"},
                           [](hid_t f) {
                             set_doubles(f, "std", {1, 0, 1});
                           }},
                    Change{"std_nan",
                           {"attribute 'std' holds nan, expected finite numbers"},
                           [](hid_t f) {
                             set_doubles(f, "std", {1, 1, NAN});
                           }},
                    Change{"resize_text",
                           {"attribute 'resize' is string, expected integers"},
                           [](hid_t f) { raw::text(f, "/inputs/image", "resize", "256"); }},
                    Change{"resize_of_one",
                           {"attribute 'resize' holds [256], expected height and width"},
                           [](hid_t f) { set_int(f, "/inputs/image", "resize", 256); }},
                    Change{"crop_zero",
                           {"attribute 'crop' holds [224, 0], expected height and width"},
                           [](hid_t f) {
                             const std::int64_t sides[] = {224, 0};
                             raw::attribute(f, "/inputs/image", "crop", H5T_STD_I64LE, {2}, sides);
                           }},
                    Change{"crop_mode_unknown",
                           {"attribute 'crop_mode' is '\\x1b[2J', expected one of center, squash"},
                           [](hid_t f) { raw::text(f, "/inputs/image", "crop_mode", "\x1b[2J"); }},
                    Change{"interpolation_number",
                           {"attribute 'interpolation' is int64, expected one string"},
                           [](hid_t f) { set_int(f, "/inputs/image", "interpolation", 3); }},
                    Change{"other_image_type",
                           {"/inputs/x is an image of float32, expected uint8"},
                           [](hid_t f) {
                             const std::vector<float> values(10);
                             raw::dataset(f, "/inputs/x", H5T_IEEE_F32LE, {10}, values.data());
                             raw::text(f, "/inputs/x", "layout", "HWC");
                             raw::text(f, "/inputs/x", "channels", "RGB");
                           }}),
    change_name);

INSTANTIATE_TEST_SUITE_P(
    Indirections, Refusals,
    testing::Values(
        Change{"soft_link",
               {"/targets/label is a soft link"},
               [](hid_t f) {
                 raw::ok(H5Lmove(f, "/targets/label", f, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT));
                 raw::ok(
                     H5Lcreate_soft("/elsewhere", f, "/targets/label", H5P_DEFAULT, H5P_DEFAULT));
               }},
        Change{"external_link",
               {"/inputs/image is an external link"},
               [](hid_t f) {
                 raw::remove(f, "/inputs/image");
                 raw::ok(H5Lcreate_external("/etc/other.h5", "/x", f, "/inputs/image", H5P_DEFAULT,
                                            H5P_DEFAULT));
               }},
        Change{"soft_link_among_notes",
               {"/notes is a soft link"},
               [](hid_t f) {
                 raw::ok(H5Lcreate_soft("/inputs", f, "/notes", H5P_DEFAULT, H5P_DEFAULT));
               }},
        Change{"external_storage",
               {"/inputs/image keeps its data in external storage"},
               [](hid_t f) {
                 raw::remove(f, "/inputs/image");
                 const hid_t storage = raw::ok(H5Pcreate(H5P_DATASET_CREATE));
                 raw::ok(H5Pset_external(storage, "/etc/hostname", 0, 10));
                 raw::dataset(f, "/inputs/image", H5T_STD_U8LE, {10}, nullptr, storage);
               }},
        Change{"virtual_layout",
               {"/inputs/image is a virtual dataset"},
               [](hid_t f) {
                 raw::remove(f, "/inputs/image");
                 const hid_t storage = raw::ok(H5Pcreate(H5P_DATASET_CREATE));
                 const hid_t extent = raw::space({10});
                 raw::ok(H5Pset_virtual(storage, extent, "other.h5", "/y", extent));
                 H5Sclose(extent);
                 raw::dataset(f, "/inputs/image", H5T_STD_U8LE, {10}, nullptr, storage);
               }},
        Change{"bomb",
               {"/inputs/image has no storage"},
               [](hid_t f) {
                 raw::remove(f, "/inputs/image");
                 raw::dataset(f, "/inputs/image", H5T_STD_U8LE, {hsize_t{1} << 40}, nullptr);
               }}),
    change_name);

}  // namespace
}  // namespace tally::data
