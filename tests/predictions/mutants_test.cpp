// SPDX-License-Identifier: Apache-2.0
// Damaged predictions.h5: what an hdf5::FileProbe lets pass can be read or is refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <tally/base/error.hpp>
#include <tally/hdf5/file_probe.hpp>
#include <tally/predictions/predictions_text.hpp>
#include <tally/predictions/saved_rows.hpp>

#include "raw_hdf5.hpp"

namespace tally::predictions {
namespace {

namespace fs = std::filesystem;

// As other programs write it: attributes of variable length, which Tally's own have not, and
// compressed columns.
std::string foreign_predictions(const fs::path& path) {
  raw::create(path, [](hid_t file) {
    const std::int64_t mark = 1;
    raw::attribute(file, "/", "tally_predictions", H5T_STD_I64LE, {}, &mark);
    const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(type, H5T_VARIABLE));
    for (const char* name : {"task", "model", "data", "digest", "outputs", "data_identity"}) {
      const char* text = "multiclass";
      raw::attribute(file, "/", name, type, {}, &text);
    }
    const std::vector<const char*> notes(40, "a note");
    raw::dataset(file, "/note", type, {40}, notes.data());
    raw::ok(H5Tclose(type));
    const std::vector<std::int64_t> values(40, 3);
    for (const char* name : {"/index", "/label", "/prediction"}) {
      const hid_t storage = raw::chunked({7});
      raw::ok(H5Pset_deflate(storage, 6));
      raw::ok(H5Pset_fletcher32(storage));
      raw::dataset(file, name, H5T_STD_I64LE, {40}, values.data(), storage);
    }
    const std::vector<float> logits(200, 0.5F);
    raw::dataset(file, "/logits", H5T_IEEE_F32LE, {40, 5}, logits.data());
  });
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One to three fields of 1, 2, 4 or 8 bytes become 0, the greatest number, any place in the file or
// any number; every second one is where HDF5 keeps texts, trees and names.
std::string mutant(std::string bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  const char* const kBlocks[] = {"GCOL", "TREE", "HEAP", "SNOD"};
  const auto changes = 1 + random() % 3;
  for (std::uint64_t i = 0; i < changes; ++i) {
    std::size_t at = random() % bytes.size();
    const std::size_t block = bytes.find(kBlocks[random() % 4]);
    if (random() % 2 == 0 && block != std::string::npos) at = block + random() % 400;
    const std::size_t size = std::size_t{1} << random() % 4;
    const std::uint64_t values[] = {0, ~std::uint64_t{0}, random() % bytes.size(), random()};
    const std::uint64_t value = values[random() % 4];
    if (at + size <= bytes.size()) std::memcpy(&bytes[at], &value, size);
  }
  return bytes;
}

void read_all(const fs::path& path) {
  describe(path);
  const hdf5::Reader file = open_predictions(path);
  for (const char* name : {"/index", "/label", "/prediction"}) {
    file.dataset(name).read_all<std::int64_t>();
  }
  file.dataset("/logits").read_all<float>();
  file.dataset("/note").read_strings();
}

enum class Outcome { read, refused, ended_by_signal };

Outcome outcome_of(const fs::path& path) {
  try {
    hdf5::probe_file(path);
  } catch (const Error&) {
    return Outcome::refused;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    try {
      read_all(path);
      ::_exit(0);
    } catch (const Error&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return Outcome::ended_by_signal;
  return WEXITSTATUS(status) == 0 ? Outcome::read : Outcome::refused;
}

TEST(Mutants, OfPredictions) {
  const raw::TemporaryFolder folder;
  const std::string good = foreign_predictions(folder / "good.h5");
  const hdf5::FileProbe probe;
  ASSERT_EQ(outcome_of(folder / "good.h5"), Outcome::read);
  const fs::path path = folder / "p.h5";
  int read = 0, refused = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << mutant(good, seed);
    const Outcome outcome = outcome_of(path);
    EXPECT_NE(outcome, Outcome::ended_by_signal) << seed;
    read += outcome == Outcome::read ? 1 : 0;
    refused += outcome == Outcome::refused ? 1 : 0;
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tally::predictions
