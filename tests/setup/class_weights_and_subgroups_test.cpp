// SPDX-License-Identifier: Apache-2.0
// What scoring takes from outside: the file of --class-weights, and the subgroups of a data set.
#include "class_weights_and_subgroups.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <optional>

#include <tally/setup/make_scoring.hpp>

#include "object_file.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "spoil.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClassWeightsTest : public SessionFixture {
 protected:
  std::string write(const std::string& text) {
    world().barrier();
    if (world().is_root()) std::ofstream(path_) << text;
    world().barrier();
    return path_;
  }
  std::vector<double> read(const std::string& text) {
    return read_class_weights(world(), write(text), 3);
  }

  std::string path_ = folder_ / "weights.txt";
};

TEST_F(ClassWeightsTest, AreNumbersBetweenBlanksOfAnyKind) {
  EXPECT_THAT(read("1 2.5 0"), ElementsAre(1, 2.5, 0));
  EXPECT_THAT(read("\n\t1e-3\r\n  2\n\n.5\n"), ElementsAre(0.001, 2, 0.5));
  EXPECT_THAT(read("0 0 1e300"), ElementsAre(0, 0, 1e300));
}

TEST_F(ClassWeightsTest, WithoutAFileThereAreNone) {
  EXPECT_THAT(read_class_weights(world(), "", 3), IsEmpty());
}

// As on a cluster, where other nodes may not see it.
TEST_F(ClassWeightsTest, OnlyRankZeroReadsTheFile) {
  const auto path = write("3 4 5");
  EXPECT_THAT(read_class_weights(world(), rank() == 0 ? path : "/no/such/file", 3),
              ElementsAre(3, 4, 5));
}

TEST_F(ClassWeightsTest, WhatIsNoWeightIsRefusedOnAllRanks) {
  const std::string digits(100, '9');
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "hold 0 numbers, the data set has 3 classes"},
      {" \n", "hold 0 numbers, the data set has 3 classes"},
      {"1 2", "hold 2 numbers, the data set has 3 classes"},
      {"1 2 3 4", "hold 4 numbers, the data set has 3 classes"},
      {"0 -0 0.0", "are all 0"},
      {"1 -2 3", "hold '-2'"},
      {"1 nan 3", "hold 'nan'"},
      {"1 inf 3", "hold 'inf'"},
      {"1 1e999 3", "hold '1e999'"},
      {"1 +2 3", "hold '+2'"},
      {"1,2,3", "hold '1,2,3'"},
      {"1 0x2 3", "hold '0x2'"},
      {"1 2 three", "hold 'three'"},
      {std::string("1 2 3\0", 6), "hold '3\\x00'"},
      {"1 \x1b[2J 3", "hold '\\x1b[2J'"},
      {"1 \xff 3", "hold '\\xff'"},
      {"1 2 " + digits + "x", "hold '" + digits.substr(0, 40) + "'"}};
  for (const auto& [text, problem] : cases) {
    EXPECT_EQ(agreed_refusal(ErrorKind::usage, [&] { read(text); }),
              "class weights '" + path_ + "' " + problem +
                  ". The file has one number from 0 up per class, in the order of the classes.");
  }
}

TEST_F(ClassWeightsTest, WhatCannotBeReadIsRefusedOnAllRanks) {
  for (const std::string& path : {(folder_ / "none").string(), folder_.string()}) {
    EXPECT_THAT(agreed_refusal(ErrorKind::usage, [&] { read_class_weights(world(), path, 3); }),
                HasSubstr("cannot read class weights '" + path + "'"));
  }
}

// Digests of runs with other weights must not be compared; how a number is written is no matter.
TEST_F(ClassWeightsTest, TheirDigestIsThatOfTheNumbers) {
  data::DataSetInfo info;
  info.task = "multiclass";
  info.num_classes = 3;
  info.columns.targets.emplace_back().name = "label";
  config_.results.save = {"none"};
  config_.scoring.class_weights = path_;
  const auto digest_of = [&](const std::string& text) {
    write(text);
    return make_scoring(world(), config_, info.task, info, {}, {}).class_weights_digest;
  };
  const auto digest = digest_of("1 2 0.5");
  EXPECT_THAT(digest, SizeIs(64));
  EXPECT_EQ(digest_of("1.0\n2e0\n.5\n"), digest);
  EXPECT_NE(digest_of("1 0.5 2"), digest);
}

// A data set of images whose samples come from these sites, too.
struct SiteFile {
  std::vector<std::int32_t> sites;
  std::int64_t num_classes = 5;

  void write(const std::filesystem::path& path) const {
    data::SampleFile{
        .num_samples = std::ssize(sites), .height = 1, .width = 1, .num_classes = num_classes}
        .write(path);
    add_sites(path);
  }
  void add_sites(const std::filesystem::path& path) const {
    raw::edit(path, [&](hid_t file) {
      raw::dataset(file, "/groups/site", H5T_STD_I32LE, {sites.size()}, sites.data());
    });
  }
};

class SubgroupsTest : public SessionFixture {
 protected:
  template <class File>
  std::vector<Subgroups> find(const File& file) {
    return find_subgroups(world(), open(file), notes_);
  }

  Notes notes_;
};

// Images 0 to 9 are of the cameras 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, of which no rank sees all.
TEST_F(SubgroupsTest, AreTheValuesOfAllRanksInOrder) {
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const auto found = find(SiteFile{{kMost, 5, -1, 5, 0, kLeast, 5, -1, 0, kMost}});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].column, 0U);
  EXPECT_THAT(found[0].values, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(found[1].column, 1U);
  EXPECT_THAT(found[1].values, ElementsAre(kLeast, -1, 0, 5, kMost));
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(SubgroupsTest, AreThoseOfTheEvaluatedSamples) {
  config_.scoring.limit = 4;
  const auto found = find(data::SampleFile{});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].values, ElementsAre(0, 1));
}

TEST_F(SubgroupsTest, TooManyBecomeANote) {
  SiteFile file{std::vector<std::int32_t>(4096)};
  std::iota(file.sites.begin(), file.sites.end(), -17);
  EXPECT_THAT(find(file), SizeIs(2));
  EXPECT_THAT(notes_.all(), IsEmpty());
  file.sites.push_back(std::numeric_limits<std::int32_t>::max());
  const auto found = find(file);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].column, 0U);
  EXPECT_THAT(notes_.all(),
              ElementsAre("no metrics by /groups/site: it has more than 4096 different values"));
}

// Three counters of 8 bytes for each of 60,000 classes, 1,366 times, are more than 1 GiB.
TEST_F(SubgroupsTest, WhoseCountersTakeTooMuchMemoryBecomeANote) {
  EXPECT_THAT(find(SiteFile{std::vector<std::int32_t>(4096), 60'000}), SizeIs(1));
  EXPECT_THAT(notes_.all(),
              ElementsAre(testing::MatchesRegex("no metrics by /groups/camera: its 1366 values "
                                                "would take [1-9][0-9]+ MiB on every rank")));
}

TEST_F(SubgroupsTest, OfDetectionsThereAreNone) {
  struct File : data::ObjectFile {
    void write(const std::filesystem::path& path) const {
      data::ObjectFile::write(path);
      SiteFile{{1, 1, 2}}.add_sites(path);
    }
  };
  EXPECT_THAT(find(data::ObjectFile{}), IsEmpty());
  EXPECT_THAT(notes_.all(), IsEmpty()) << "nothing was expected";
  EXPECT_THAT(find(File{}), IsEmpty());
  EXPECT_THAT(notes_.all(), ElementsAre("no metrics by subgroup: detections of all images are "
                                        "ranked together"));
}

TEST_F(SubgroupsTest, OfSavedUnitsThereAreNone) {
  auto session = open(data::SampleFile{});
  session.source = std::make_unique<GivenSource>(true);
  EXPECT_THAT(find_subgroups(world(), session, notes_), IsEmpty());
  EXPECT_THAT(notes_.all(), ElementsAre("no metrics by subgroup: they need the samples that were "
                                        "predicted"));
}

// The damage is in the last sample's value, which one rank reads.
TEST_F(SubgroupsTest, DamageThatOneRankFindsEndsAll) {
  struct File : data::SampleFile {
    void write(const std::filesystem::path& path) const {
      data::SampleFile::write(path);
      const data::ColumnInfo camera = data::DataSet(path).info().columns.groups.at(0);
      data::spoil(path, camera);
    }
  };
  File file;
  file.rows_per_block = 4;
  EXPECT_THAT(agreed_refusal(ErrorKind::dataset, [&] { find(file); }), HasSubstr("/groups/camera"));
}

}  // namespace
}  // namespace tally::app
