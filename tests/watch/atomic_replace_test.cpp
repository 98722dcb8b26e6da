// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <tally/base/error.hpp>

#include "atomic_replace.hpp"
#include "scratch_folder.hpp"

namespace tally::watch {
namespace {

namespace fs = std::filesystem;

using PutInPlace = ScratchFolder;

TEST_F(PutInPlace, ExchangesAFolder) {
  write("made/new", "new");
  write("place/old", "old");
  atomic_replace(at("made"), at("place"));
  EXPECT_EQ(text_of("place/new"), "new");
  EXPECT_FALSE(fs::exists(at("place/old")));
  EXPECT_FALSE(fs::exists(at("made")));
}

TEST_F(PutInPlace, NeedsNoExchange) {
  write("made/new", "new");
  write("place/old", "old");
  write("place.before/older", "left by an interruption");
  put_in_emptied_place(at("made"), at("place"));
  EXPECT_EQ(text_of("place/new"), "new");
  EXPECT_FALSE(fs::exists(at("place/old")));
  EXPECT_FALSE(fs::exists(at("made")));
  EXPECT_FALSE(fs::exists(before_path(at("place"))));
}

TEST_F(PutInPlace, LeavesTheOldOneWhereItFails) {
  write("place/old", "old");
  const auto put = [&](auto way) {
    expect_error(ErrorKind::output, {"place", "No such file"},
                 [&] { way(at("none"), at("place")); });
    EXPECT_EQ(text_of("place/old"), "old");
    EXPECT_FALSE(fs::exists(before_path(at("place"))));
  };
  put(atomic_replace);
  expect_error(ErrorKind::output, {"nowhere/place'", "No such file"},
               [&] { atomic_replace(at("place"), at("nowhere/place")); });
  put(put_in_emptied_place);
}

TEST_F(PutInPlace, IsRecovered) {
  write("place.before/old", "old");
  recover_place(at("place"));
  EXPECT_EQ(text_of("place/old"), "old");
  EXPECT_FALSE(fs::exists(before_path(at("place"))));

  write("place.before/older", "older");
  recover_place(at("place"));
  EXPECT_EQ(text_of("place/old"), "old");
  EXPECT_FALSE(fs::exists(before_path(at("place"))));

  fs::create_symlink("nowhere", before_path(at("link")));
  recover_place(at("link"));
  EXPECT_EQ(fs::read_symlink(at("link")), "nowhere");
}

}  // namespace
}  // namespace tally::watch
