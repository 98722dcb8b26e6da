// SPDX-License-Identifier: Apache-2.0
// The index of a data set of several files: what is read of it, and what is refused.
#include "shards/shard_index.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>

#include <tally/data/data_set.hpp>

#include "expect_error.hpp"
#include "raw_hdf5.hpp"
#include "shards/index_file.hpp"

namespace tally::data {
namespace {

using nlohmann::json;

class ShardIndexFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto path = folder_ / "a.shards.json";
    std::ofstream(path) << text;
    return path;
  }
  static json good() {
    IndexFile index;
    index.add("a.h5", 3, std::string(64, 'a'));
    index.add("b.h5", 4, std::string(64, 'b'));
    return index.json();
  }
  void refused(const std::string& why, const std::function<void(json&)>& change) {
    json index = good();
    change(index);
    const auto path = write(index.dump());
    expect_error(ErrorKind::dataset, {"a.shards.json", why}, [&] { read_shard_index(path); });
  }
  raw::TemporaryFolder folder_;
};

TEST_F(ShardIndexFile, SaysWhichFilesThereAre) {
  const ShardIndex index = read_shard_index(write(good().dump()));
  EXPECT_EQ(index.task, "multiclass");
  EXPECT_EQ(index.num_samples, 7);
  ASSERT_EQ(index.shards.size(), 2U);
  EXPECT_EQ(index.shards[1].file, folder_ / "b.h5");
  EXPECT_EQ(index.shards[1].num_samples, 4);
  EXPECT_EQ(index.shards[1].identity, std::string(64, 'b'));
}

TEST_F(ShardIndexFile, IsKnownByItsName) {
  EXPECT_TRUE(is_shard_index("x/val.shards.json"));
  EXPECT_FALSE(is_shard_index("x/val.json"));
  EXPECT_FALSE(is_shard_index("x.shards.json/val.h5"));
}

TEST_F(ShardIndexFile, WhatIsWrongIsNamed) {
  refused("tally_shards 2, expected 1", [](json& index) { index["tally_shards"] = 2; });
  refused("has no 'tally_shards'. Name the HDF5 file",
          [](json& index) { index.erase("tally_shards"); });
  refused("no 'task'", [](json& index) { index["task"] = 3; });
  refused("no 'num_samples'", [](json& index) { index["num_samples"] = 7.0; });
  refused("no 'num_samples'", [](json& index) { index["num_samples"] = UINT64_MAX; });
  refused("num_samples 8, but its shards have 7", [](json& index) { index["num_samples"] = 8; });
  refused("num_samples 6, but its shards have more", [](json& index) { index["num_samples"] = 6; });
  refused("no 'shards'", [](json& index) { index["shards"] = json::array(); });
}

TEST_F(ShardIndexFile, WhatIsWrongWithAShardIsNamed) {
  refused("shards[1] is no object", [](json& index) { index["shards"][1] = "b.h5"; });
  refused("shards[1] has no 'rows'", [](json& index) { index["shards"][1]["rows"] = 0; });
  refused("shards[1] has no 'rows'", [](json& index) { index["shards"][1]["rows"] = -4; });
  refused("have more", [](json& index) {
    for (json& shard : index["shards"]) shard["rows"] = INT64_MAX;
  });
  refused("shards[0] has no 'file'", [](json& index) { index["shards"][0].erase("file"); });
  for (const char* name : {"", ".", "..", "../a.h5", "/etc/a.h5", "x/a.h5"}) {
    refused("no name of a file beside", [&](json& index) { index["shards"][0]["file"] = name; });
  }
  refused("'a.h5' a second time", [](json& index) { index["shards"][1]["file"] = "a.h5"; });
  refused("the identity 'abc'", [](json& index) { index["shards"][0]["identity"] = "abc"; });
}

TEST_F(ShardIndexFile, WhatIsNoIndexIsRefused) {
  const std::string deep(100'000, '[');
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{"), deep,
                                  "{\"shards\": " + deep, std::string("\x89HDF")}) {
    const auto path = write(text);
    expect_error(ErrorKind::dataset, {"a.shards.json"}, [&] { read_shard_index(path); });
  }
}

// Any change of a byte is read, or refused as an error of the data set.
TEST_F(ShardIndexFile, DamageNeverEndsOtherwise) {
  std::mt19937 random(7);
  const std::string whole = good().dump();
  for (int i = 0; i < 800; ++i) {
    std::string text = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random());
    const auto path = write(text);
    try {
      EXPECT_GE(read_shard_index(path).num_samples, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::dataset) << text;
    }
  }
}

}  // namespace
}  // namespace tally::data
