// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

const std::int32_t kValues[] = {1, 2, 3, 4, 5, 6, 7, 8};

hid_t properties() { return raw::ok(H5Pcreate(H5P_DATASET_CREATE)); }

class Refusals : public testing::Test {
 protected:
  // The object is refused when it is opened; where it is about bytes from elsewhere, also by the
  // walk over the file.
  enum class Walk { refuses, passes };

  void refused(const char* object, const std::vector<std::string>& parts, Walk walk,
               const std::function<void(hid_t)>& fill) {
    const auto path = folder_ / "a.h5";
    raw::create(path, fill);
    const Reader file(path);
    expect_error(ErrorKind::dataset, parts, [&] { file.dataset(object); });
    if (walk == Walk::passes) {
      EXPECT_NO_THROW(file.refuse_indirections());
    } else {
      expect_error(ErrorKind::dataset, parts, [&] { file.refuse_indirections(); });
    }
  }

  raw::TemporaryFolder folder_;
};

TEST_F(Refusals, SoftLink) {
  refused("/g/x", {"a.h5', /g/x is a soft link"}, Walk::refuses, [](hid_t file) {
    raw::dataset(file, "/g/y", H5T_STD_I32LE, {8}, kValues);
    raw::ok(H5Lcreate_soft("/g/y", file, "/g/x", H5P_DEFAULT, H5P_DEFAULT));
  });
}

TEST_F(Refusals, SoftLinkOnTheWay) {
  refused("/g/x", {"/g is a soft link"}, Walk::refuses, [](hid_t file) {
    raw::dataset(file, "/h/x", H5T_STD_I32LE, {8}, kValues);
    raw::ok(H5Lcreate_soft("/h", file, "/g", H5P_DEFAULT, H5P_DEFAULT));
  });
}

TEST_F(Refusals, ExternalLink) {
  raw::create(folder_ / "other.h5",
              [](hid_t file) { raw::dataset(file, "/x", H5T_STD_I32LE, {8}, kValues); });
  refused("/x", {"/x is an external link"}, Walk::refuses, [](hid_t file) {
    raw::ok(H5Lcreate_external("other.h5", "/x", file, "/x", H5P_DEFAULT, H5P_DEFAULT));
  });
}

TEST_F(Refusals, UserDefinedLink) {
  constexpr int kClass = H5L_TYPE_UD_MIN + 3;
  const H5L_class_t link_class{
      H5L_LINK_CLASS_T_VERS,
      static_cast<H5L_type_t>(kClass),
      "test",
      nullptr,
      nullptr,
      nullptr,
      [](const char*, hid_t group, const void*, size_t, hid_t, hid_t) { return group; },
      nullptr,
      nullptr};
  raw::ok(H5Lregister(&link_class));
  refused("/x", {"/x is a user-defined link"}, Walk::refuses, [](hid_t file) {
    raw::ok(H5Lcreate_ud(file, "/x", static_cast<H5L_type_t>(kClass), nullptr, 0, H5P_DEFAULT,
                         H5P_DEFAULT));
  });
  raw::ok(H5Lunregister(static_cast<H5L_type_t>(kClass)));
}

TEST_F(Refusals, ExternalStorage) {
  refused("/x", {"/x keeps its data in external storage"}, Walk::refuses, [](hid_t file) {
    const hid_t storage = properties();
    raw::ok(H5Pset_external(storage, "/etc/hostname", 0, 32));
    raw::dataset(file, "/x", H5T_STD_I32LE, {8}, nullptr, storage);
  });
}

TEST_F(Refusals, VirtualLayout) {
  refused("/x", {"/x is a virtual dataset"}, Walk::refuses, [](hid_t file) {
    raw::dataset(file, "/y", H5T_STD_I32LE, {8}, kValues);
    const hid_t storage = properties();
    const hid_t extent = raw::space({8});
    raw::ok(H5Pset_virtual(storage, extent, "other.h5", "/y", extent));
    raw::ok(H5Sclose(extent));
    raw::dataset(file, "/x", H5T_STD_I32LE, {8}, nullptr, storage);
  });
}

TEST_F(Refusals, UnknownFilter) {
  constexpr H5Z_filter_t kFilter = 300;
  const H5Z_class2_t filter_class{H5Z_CLASS_T_VERS,
                                  kFilter,
                                  1,
                                  1,
                                  "keep",
                                  nullptr,
                                  nullptr,
                                  [](unsigned, size_t, const unsigned*, size_t num_bytes, size_t*,
                                     void**) { return num_bytes; }};
  raw::ok(H5Zregister(&filter_class));
  refused("/x", {"/x uses the HDF5 filter 300 ('keep')", "h5repack"}, Walk::refuses,
          [](hid_t file) {
            const hid_t storage = raw::chunked({4});
            raw::ok(H5Pset_filter(storage, kFilter, 0, 0, nullptr));
            raw::dataset(file, "/x", H5T_STD_I32LE, {8}, kValues, storage);
          });
  raw::ok(H5Zunregister(kFilter));
}

TEST_F(Refusals, ElementTypes) {
  const auto path = folder_ / "types.h5";
  raw::create(path, [](hid_t file) {
    raw::dataset(file, "/big", H5T_STD_I32BE, {8}, kValues);
    raw::dataset(file, "/bits", H5T_STD_B32LE, {8}, kValues);
    const hid_t compound = raw::ok(H5Tcreate(H5T_COMPOUND, 4));
    raw::ok(H5Tinsert(compound, "a", 0, H5T_STD_I32LE));
    raw::dataset(file, "/compound", compound, {8}, kValues);
    const hid_t enumeration = raw::ok(H5Tenum_create(H5T_STD_I32LE));
    raw::ok(H5Tenum_insert(enumeration, "one", &kValues[0]));
    raw::dataset(file, "/enumeration", enumeration, {8}, kValues);
    const hid_t half = raw::ok(H5Tcopy(H5T_IEEE_F32LE));
    raw::ok(H5Tset_fields(half, 15, 10, 5, 0, 10));
    raw::ok(H5Tset_size(half, 2));
    raw::dataset(file, "/half", half, {8}, kValues);
    const hid_t short_int = raw::ok(H5Tcopy(H5T_STD_I32LE));
    raw::ok(H5Tset_precision(short_int, 20));
    raw::dataset(file, "/short", short_int, {8}, kValues);
    const hid_t opaque = raw::ok(H5Tcreate(H5T_OPAQUE, 4));
    raw::dataset(file, "/opaque", opaque, {8}, nullptr);
    const hsize_t two = 2;
    const hid_t array = raw::ok(H5Tarray_create2(H5T_STD_I32LE, 1, &two));
    raw::dataset(file, "/array", array, {8}, nullptr);
    const hid_t lengths = raw::ok(H5Tvlen_create(H5T_STD_I32LE));
    raw::dataset(file, "/lengths", lengths, {8}, nullptr);
    raw::dataset(file, "/reference", H5T_STD_REF_OBJ, {8}, nullptr);
    raw::dataset(file, "/time", H5T_UNIX_D32LE, {8}, nullptr);
    for (const hid_t type : {compound, enumeration, half, short_int, opaque, array, lengths}) {
      H5Tclose(type);
    }
  });
  const Reader file(path);
  const auto refuse = [&](const char* object, const char* found) {
    expect_error(ErrorKind::dataset, {object, found, "expected little-endian"},
                 [&] { file.dataset(object); });
  };
  refuse("/big", "big-endian int32");
  refuse("/bits", "bitfield");
  refuse("/compound", "compound");
  refuse("/enumeration", "enumeration");
  refuse("/half", "float16");
  refuse("/short", "int32 with unused bits");
  refuse("/opaque", "opaque");
  refuse("/array", "array");
  refuse("/lengths", "variable-length");
  refuse("/reference", "reference");
  refuse("/time", "time");
  EXPECT_NO_THROW(file.refuse_indirections());  // strange, but nobody's business until used
}

TEST_F(Refusals, SizesBeyondTheFile) {
  constexpr hsize_t kHuge = hsize_t{1} << 40;
  refused("/x", {"/x has no storage", "never written"}, Walk::passes,
          [](hid_t file) { raw::dataset(file, "/x", H5T_STD_I32LE, {kHuge}, nullptr); });
}

TEST_F(Refusals, ChunksThatTheFileCannotHold) {
  refused("/x", {"/x declares 4398046511104 bytes", "can hold"}, Walk::passes, [](hid_t file) {
    raw::dataset(file, "/x", H5T_STD_I32LE, {hsize_t{1} << 40}, nullptr, raw::chunked({1024}));
  });
}

TEST_F(Refusals, SizesBeyondInt64) {
  refused("/x", {"/x declares more than 2^63 bytes"}, Walk::passes, [](hid_t file) {
    raw::dataset(file, "/x", H5T_STD_I32LE, {hsize_t{1} << 40, hsize_t{1} << 22}, nullptr,
                 raw::chunked({1024, 1}));
  });
}

TEST_F(Refusals, MissingChunks) {
  refused("/x", {"/x holds 2 of 3 chunks"}, Walk::passes, [](hid_t file) {
    const hid_t storage = raw::chunked({4});
    raw::ok(H5Pset_deflate(storage, 1));
    raw::dataset(file, "/x", H5T_STD_I32LE, {12}, nullptr, storage);
    const hid_t dataset = raw::ok(H5Dopen2(file, "/x", H5P_DEFAULT));
    const hid_t extent = raw::ok(H5Dget_space(dataset));
    const hid_t memory = raw::space({8});
    const hsize_t start = 0, count = 8;
    raw::ok(H5Sselect_hyperslab(extent, H5S_SELECT_SET, &start, nullptr, &count, nullptr));
    raw::ok(H5Dwrite(dataset, H5T_STD_I32LE, memory, extent, H5P_DEFAULT, kValues));
    H5Sclose(memory);
    H5Sclose(extent);
    H5Dclose(dataset);
  });
}

TEST_F(Refusals, WhatIsNoDataset) {
  const auto path = folder_ / "a.h5";
  raw::create(path, [](hid_t file) {
    raw::dataset(file, "/g/x", H5T_STD_I32LE, {8}, kValues);
    const hid_t null = raw::ok(H5Screate(H5S_NULL));
    H5Dclose(raw::ok(
        H5Dcreate2(file, "/null", H5T_STD_I32LE, null, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    H5Sclose(null);
  });
  const Reader file(path);
  expect_error(ErrorKind::dataset, {"/g is not a dataset"}, [&] { file.dataset("/g"); });
  expect_error(ErrorKind::dataset, {"/g/y is missing"}, [&] { file.dataset("/g/y"); });
  expect_error(ErrorKind::dataset, {"/g/x/y is missing"}, [&] { file.dataset("/g/x/y"); });
  expect_error(ErrorKind::dataset, {"/null has no extent"}, [&] { file.dataset("/null"); });
  expect_error(ErrorKind::dataset, {"/g/x is not a group"}, [&] { file.children("/g/x"); });
  expect_error(ErrorKind::dataset, {"/g/x holds int32, expected float32"},
               [&] { file.dataset("/g/x").read_all<float>(); });
}

TEST_F(Refusals, ChunksThatTakeMuchMemory) {
  constexpr hsize_t kMost = 256U << 20;
  refused("/x", {"/x has chunks of 268435457 bytes, expected at most 268435456", "h5repack"},
          Walk::passes, [](hid_t file) { raw::declared(file, "/x", H5T_STD_U8LE, {kMost + 1}); });
  raw::create(folder_ / "most.h5",
              [](hid_t file) { raw::declared(file, "/x", H5T_STD_U8LE, {kMost}); });
  EXPECT_NO_THROW(Reader(folder_ / "most.h5").dataset("/x"));
}

// Groups of one letter each, within one another, with a dataset in the last one.
Reader nested(const std::filesystem::path& path, std::size_t num_groups) {
  std::string name;
  for (std::size_t i = 0; i < num_groups; ++i) name += "/g";
  raw::create(path, [&](hid_t file) {
    raw::dataset(file, (name + "/x").c_str(), H5T_STD_I32LE, {8}, kValues);
  });
  return Reader(path);
}

TEST_F(Refusals, DeepGroups) {
  const Reader allowed = nested(folder_ / "31.h5", 31);
  EXPECT_NO_THROW(allowed.refuse_indirections());
  EXPECT_EQ(allowed.all_paths().size(), 32U);
  for (const std::size_t depth : {std::size_t{32}, std::size_t{3000}}) {
    const Reader file = nested(folder_ / std::to_string(depth), depth);
    expect_error(ErrorKind::dataset, {"/ holds groups within groups, more than 32 deep"},
                 [&] { file.refuse_indirections(); });
  }
}

TEST_F(Refusals, AGroupThatHoldsItselfEndsTheWalk) {
  const auto path = folder_ / "a.h5";
  raw::create(path, [](hid_t file) {
    raw::dataset(file, "/g/x", H5T_STD_I32LE, {8}, kValues);
    raw::ok(H5Lcreate_hard(file, "/g", file, "/g/again", H5P_DEFAULT, H5P_DEFAULT));
  });
  const Reader file(path);
  EXPECT_NO_THROW(file.refuse_indirections());
  EXPECT_EQ(file.all_paths(), (std::vector<std::string>{"/g", "/g/again", "/g/x"}));
}

// Names that are out of order, so that HDF5 does not find what it lists.
TEST_F(Refusals, NamesInHdf5sOwnWordsCannotSteerATerminal) {
  const auto path = folder_ / "a.h5";
  raw::create(path, [](hid_t file) {
    for (const char* name : {"/aaaaaaaa", "/bbbbbbbb"}) {
      raw::dataset(file, name, H5T_STD_I32LE, {8}, kValues);
    }
  });
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  file.seekp(static_cast<std::streamoff>(bytes.find("aaaaaaaa")));
  file.write("\xc8\x1b", 2);
  file.close();
  expect_error(ErrorKind::dataset, {R"((HDF5: object '\xc8\x1baaaaaa' doesn't exist))"},
               [&] { Reader(path).refuse_indirections(); });
}

}  // namespace
}  // namespace tally::hdf5
