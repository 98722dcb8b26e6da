// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include <tally/hdf5/file_probe.hpp>
#include <tally/hdf5/reader.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"

namespace tally::hdf5 {
namespace {

// Texts of variable length lie in a heap that begins with its name. Behind 16 bytes come objects:
// their number (0: what is free, the last one), 6 bytes, their size (8 bytes), and as many bytes,
// filled up to a multiple of 8 (HDF5 File Format Specification, Disk Format Level 1E).
class Heap {
 public:
  explicit Heap(std::string& bytes) : bytes_(bytes), first_(bytes.find("GCOL") + 16) {}

  std::size_t first() const { return first_; }
  std::size_t last() const {
    std::size_t at = first_;
    while (bytes_.at(at) != 0) at += 16 + (size_of(at) + 7) / 8 * 8;
    return at;
  }
  void set_size(std::size_t object, std::uint64_t size) {
    std::memcpy(&bytes_[object + 8], &size, sizeof size);
  }

 private:
  std::size_t size_of(std::size_t object) const {
    std::uint64_t size = 0;
    std::memcpy(&size, &bytes_.at(object + 8), sizeof size);
    return size;
  }

  std::string& bytes_;
  std::size_t first_;
};

class FileProbeTest : public testing::Test {
 protected:
  // A dataset with a text of variable length, whose bytes `damage` then changes.
  std::filesystem::path write(const char* name, const std::function<void(std::string&)>& damage) {
    const auto path = folder_ / name;
    raw::create(path, [](hid_t file) {
      const std::int32_t values[] = {1, 2};
      raw::dataset(file, "/g/x", H5T_STD_I32LE, {2}, values);
      const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
      raw::ok(H5Tset_size(type, H5T_VARIABLE));
      const char* text = "a text of variable length";
      raw::attribute(file, "/g/x", "text", type, {}, &text);
      raw::ok(H5Tclose(type));
    });
    std::ifstream in(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    damage(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  std::filesystem::path write_good(const char* name) {
    return write(name, [](std::string&) {});
  }
  // HDF5 1.10 crashes on it, newer ones fail.
  std::filesystem::path write_crashing(const char* name) {
    return write(name, [](std::string& bytes) {
      Heap heap(bytes);
      heap.set_size(heap.first(), std::uint64_t{1} << 40);
    });
  }

  raw::TemporaryFolder folder_;
};

TEST_F(FileProbeTest, RefusesWhatCrashes) {
  const FileProbe probe;
  const auto path = write_crashing("a.h5");
  expect_error(ErrorKind::dataset, {"data set '" + path.string() + "'", "HDF5"},
               [&] { const Reader file(path); });
  expect_error(ErrorKind::usage, {"metrics file '" + path.string() + "'"},
               [&] { const Reader file(path, ErrorKind::usage, "metrics file"); });
  expect_error(ErrorKind::dataset, {"predictions file '" + path.string() + "'"},
               [&] { probe_file(path, ErrorKind::dataset, "predictions file"); });
}

TEST_F(FileProbeTest, RefusesWhatHasNoEnd) {
  const FileProbe probe;
  const auto path = write("a.h5", [](std::string& bytes) {
    Heap heap(bytes);
    heap.set_size(heap.last(), 0);
  });
  expect_error(ErrorKind::dataset,
               {"is damaged or hostile: HDF5's own parser finds no end in it (2 s)", "again."},
               [&] { const Reader file(path); });
}

// Where HDF5 fails, too, it may take the process along.
TEST_F(FileProbeTest, RefusesWhatHdf5FailsOn) {
  const FileProbe probe;
  const auto path = write("a.h5", [](std::string& bytes) { bytes[bytes.find("TREE")] = 'X'; });
  expect_error(ErrorKind::dataset, {"data set '" + path.string() + "'", "(HDF5: "},
               [&] { const Reader file(path); });
}

TEST_F(FileProbeTest, PassesGoodFilesAndWhatOnlyReadersRefuse) {
  const FileProbe probe;
  const auto good = write_good("good.h5");
  EXPECT_EQ(Reader(good).dataset("/g/x").read_all<std::int32_t>().size(), 2U);
  EXPECT_NO_THROW(probe_file(good));
  raw::edit(good, [](hid_t file) {
    raw::ok(H5Lcreate_external("other.h5", "/x", file, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT));
  });
  const Reader file(good);
  expect_error(ErrorKind::dataset, {"/elsewhere is an external link"},
               [&] { file.refuse_indirections(); });
  EXPECT_NO_THROW(probe_file(folder_ / "missing.h5"));
  std::ofstream(folder_ / "text.h5") << "text";
  EXPECT_NO_THROW(probe_file(folder_ / "text.h5"));
  expect_error(ErrorKind::dataset, {"is not an HDF5 file"},
               [&] { const Reader text(folder_ / "text.h5"); });
}

// A file of this name may be another one each time.
TEST_F(FileProbeTest, TriesAFileThatChangedAgain) {
  const FileProbe probe;
  const auto path = write_good("a.h5");
  EXPECT_NO_THROW(Reader{path});
  std::filesystem::remove(path);
  write_crashing("a.h5");
  EXPECT_THROW(Reader{path}, Error);
  std::filesystem::remove(path);
  write_good("a.h5");
  EXPECT_NO_THROW(Reader{path});
}

}  // namespace
}  // namespace tally::hdf5
