// SPDX-License-Identifier: Apache-2.0
// Which rows of saved predictions are shown, and what the data set adds to them.
#include "inspect_samples.hpp"

#include <optional>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/writer.hpp>

#include "expect_error.hpp"
#include "inspect_fixture.hpp"
#include "sample_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Lines = std::vector<std::string>;

// Labels are i mod 3, cameras i / 3, and sites 1 where i is odd, else -1.
class InspectSamplesTest : public InspectFixture {
 protected:
  InspectSamplesTest() {
    data::SampleFile{.num_samples = 8, .height = 1, .width = 1, .num_classes = 3}.write(at("a.h5"));
    raw::edit(at("a.h5"), [](hid_t file) {
      const std::vector<std::int32_t> sites{-1, 1, -1, 1, -1, 1, -1, 1};
      raw::dataset(file, "/groups/site", H5T_STD_I32LE, {8}, sites.data());
    });
  }

  // Rows 1, 3 and 7 are predicted wrongly. `data`: which data set they say that they are of.
  std::string save(const std::optional<std::string>& data, const std::string& identity) {
    hdf5::Writer file(at("p.h5"));
    file.set_attribute("/", "tally_predictions", 1);
    file.set_attribute("/", "task", "multiclass");
    file.set_attribute("/", "num_classes", "3");
    if (data) file.set_attribute("/", "data", *data);
    file.set_attribute("/", "data_identity", identity);
    file.write("/index", {8}, Numbers{0, 1, 2, 3, 4, 5, 6, 7});
    file.write("/label", {8}, Numbers{0, 1, 2, 0, 1, 2, 0, 1});
    file.write("/prediction", {8}, Numbers{0, 2, 2, 1, 1, 2, 0, 0});
    file.write("/loss", {8}, std::vector<float>{0.5, 3, 0.25, 2, 0.125, 1, 0.0625, 4});
    file.close();
    return at("p.h5");
  }
  std::string save() { return save(at("a.h5"), data::DataSet(at("a.h5")).identity()); }

  // The lines, and what is said on stderr.
  Lines show(const std::string& file, Words words) {
    words.insert(words.begin(), file);
    const auto choice = config::parse_inspect_options(words).samples;
    testing::internal::CaptureStderr();
    try {
      auto lines = inspect_samples(file, choice);
      said_ = testing::internal::GetCapturedStderr();
      return lines;
    } catch (...) {
      said_ = testing::internal::GetCapturedStderr();
      throw;
    }
  }

  std::string said_;
};

// Behind the heading, a title and the names of the columns.
Numbers indices(const Lines& lines) {
  Numbers found;
  for (std::size_t i = 3; i < lines.size(); ++i) found.push_back(std::stoll(lines[i]));
  return found;
}

TEST_F(InspectSamplesTest, RowsHaveTheNamesAndGroupsOfTheDataSet) {
  const auto file = save();
  EXPECT_THAT(show(file, {"--worst=2"}),
              ElementsAre("predictions file '" + file + "': 2 of 8 rows, largest loss first",
                          "rows:",                                              //
                          "  index  label     prediction  loss  camera  site",  //
                          "  7      1 class1  0 class0    4     2       1",     //
                          "  1      1 class1  2 class2    3     0       1"));
  EXPECT_EQ(said_, "");
}

class NamedSamplesTest : public InspectSamplesTest {
 protected:
  NamedSamplesTest() {
    std::filesystem::remove(at("a.h5"));
    const Words names{"c/0.png", "c/1.png", "c/2.png", "c/3.png",
                      "d/4.png", "d/5.png", "d/6.png", "../7.png"};
    data::SampleFile{.num_samples = 8, .height = 1, .width = 1, .num_classes = 3, .names = names}
        .write(at("a.h5"));
    std::filesystem::create_directories(folder_ / "set" / "c");
    for (const char* name : {"set/c/0.png", "set/c/1.png", "set/c/3.png"}) write(name, name);
  }
};

TEST_F(NamedSamplesTest, TheNameStandsBesideTheIndex) {
  const auto lines = show(save(), {"--worst=2"});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2], "  index  name      label     prediction  loss  camera");
  EXPECT_EQ(lines[3], "  7      ../7.png  1 class1  0 class0    4     2");
  EXPECT_EQ(lines[4], "  1      c/1.png   1 class1  2 class2    3     0");
}

TEST_F(NamedSamplesTest, ImagesOfTheShownRowsAreCopiedInTheirOrder) {
  const auto file = save();
  const auto lines = show(file, {"--worst=9", "--wrong", "--group=camera=0", "--images", at("set"),
                                 "--copy-images", at("new")});
  EXPECT_EQ(lines.back(), "wrote '" + at("new") + "': 1 images");
  EXPECT_EQ(text_of("new/0001_1_1.png"), "set/c/1.png");
  show(file, {"--class=0", "--show=2", "--images", at("set"), "--copy-images", at("other/")});
  EXPECT_EQ(text_of("other/0001_0_0.png"), "set/c/0.png");
  EXPECT_EQ(text_of("other/0002_3_3.png"), "set/c/3.png");
}

TEST_F(NamedSamplesTest, CopiesNeedNames) {
  const auto file = save();
  expect_error(ErrorKind::dataset, {"sample 7 is named '../7.png'"}, [&] {
    show(file, {"--worst=1", "--images", at("set"), "--copy-images", at("new")});
  });
  expect_error(ErrorKind::usage, {"there is no file '" + at("set/c/2.png") + "', as sample 2"},
               [&] {
                 show(file, {"--class=2", "--images", at("set"), "--copy-images", at("new")});
               });
  std::filesystem::remove(at("a.h5"));
  std::filesystem::remove(at("p.h5"));
  data::SampleFile{.num_samples = 8, .num_classes = 3}.write(at("a.h5"));
  const auto nameless = save();
  expect_error(ErrorKind::usage, {"--copy-images needs names of samples, which data set '"}, [&] {
    show(nameless, {"--worst=1", "--images", at("set"), "--copy-images", at("new")});
  });
  EXPECT_FALSE(std::filesystem::exists(at("new")));
}

TEST_F(InspectSamplesTest, TheHeadingSaysHowManyThereWereToChooseFrom) {
  const auto file = save();
  const auto begin = "predictions file '" + file + "': ";
  EXPECT_EQ(show(file, {"--show=2", "--wrong"})[0],
            begin + "2 of 3 matching rows (8 in all), in order of index");
  EXPECT_EQ(show(file, {"--show=20"})[0], begin + "8 of 8 rows, in order of index");
  EXPECT_THAT(show(file, {"--class=0", "--group=camera=2", "--group=site=1"}),
              ElementsAre(begin + "0 of 0 matching rows (8 in all), in order of index"));
}

struct Choice {
  Words words;
  Numbers rows;
};

class SampleChoices : public InspectSamplesTest, public testing::WithParamInterface<Choice> {};

TEST_P(SampleChoices, KeepTheRowsThatFitAll) {
  EXPECT_EQ(indices(show(save(), GetParam().words)), GetParam().rows);
}

INSTANTIATE_TEST_SUITE_P(
    All, SampleChoices,
    testing::Values(Choice{{"--wrong"}, {1, 3, 7}},  //
                    Choice{{"--worst=20", "--wrong"}, {7, 1, 3}},
                    Choice{{"--show=1", "--wrong"}, {1}},   //
                    Choice{{"--class=1"}, {1, 4, 7}},       //
                    Choice{{"--class=class1"}, {1, 4, 7}},  //
                    Choice{{"--predicted=class2"}, {1, 2, 5}},
                    Choice{{"--class=class1", "--predicted=0"}, {7}},
                    Choice{{"--group=camera=1"}, {3, 4, 5}},  //
                    Choice{{"--group=site=-1"}, {0, 2, 4, 6}},
                    Choice{{"--group=camera=1", "--group=site=1"}, {3, 5}},
                    Choice{{"--group=camera=1", "--group=camera=2"}, {}},
                    Choice{{"--worst=2", "--group=site=-1"}, {0, 2}},
                    Choice{{"--worst=9", "--class=class1", "--group=site=1", "--wrong"}, {7, 1}}));

struct Refused {
  Words words;
  std::string message;
};

class SampleRefusals : public InspectSamplesTest, public testing::WithParamInterface<Refused> {};

TEST_P(SampleRefusals, NameWhatTheDataSetHas) {
  const auto file = save();
  expect_error(ErrorKind::usage, {GetParam().message}, [&] { show(file, GetParam().words); });
}

INSTANTIATE_TEST_SUITE_P(
    All, SampleRefusals,
    testing::Values(
        Refused{{"--class=3"}, "--class is 3, expected 0 to 2 or a class's name"},
        Refused{{"--predicted=-1"}, "--predicted is -1, expected 0 to 2 or a class's name"},
        Refused{{"--class=clas1"},
                "--class: the data set has no class 'clas1'. Did you mean 'class1'?"},
        Refused{{"--predicted=x\x1b"}, "has no class 'x\\x1b'. Classes go by number, too."},
        Refused{{"--group=camera"}, "--group is 'camera', expected NAME=VALUE with an integer"},
        Refused{{"--group=camera="}, "--group is 'camera=', expected NAME=VALUE"},
        Refused{{"--group=camera=1.5"}, "--group is 'camera=1.5', expected NAME=VALUE"},
        Refused{{"--group=camera=2147483648"}, "expected NAME=VALUE with an integer"},
        Refused{{"--group=camera=1", "--group=kamera=1"},
                "the data set has no group 'kamera'. Did you mean 'camera'?"},
        Refused{{"--group==1"}, "the data set has no group ''. It has camera, site."},
        Refused{{"--group=camera=3"}, "--group: no sample has camera=3. There are 0, 1, 2."}));

// 36 samples have 12 cameras.
TEST_F(InspectSamplesTest, OfManyValuesTheFirstTenAreNamed) {
  std::filesystem::remove(at("a.h5"));
  data::SampleFile{.num_samples = 36, .num_classes = 3}.write(at("a.h5"));
  const auto file = save();
  expect_error(ErrorKind::usage,
               {"no sample has camera=12. Among others there are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9."},
               [&] { show(file, {"--group=camera=12"}); });
}

TEST_F(InspectSamplesTest, AClassOfTwoNumbersIsAskedForByNumber) {
  raw::edit(at("a.h5"), [](hid_t file) {
    raw::remove(file, "/class_names");
    const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(type, 3));
    raw::dataset(file, "/class_names", type, {3}, "catdogcat");
    raw::ok(H5Tclose(type));
  });
  const auto file = save();
  expect_error(ErrorKind::usage,
               {"--class: several classes are named 'cat'. Give the class's number."},
               [&] { show(file, {"--class=cat"}); });
  EXPECT_EQ(indices(show(file, {"--class=dog"})), (Numbers{1, 4, 7}));
  EXPECT_EQ(indices(show(file, {"--class=2"})), (Numbers{2, 5}));
}

TEST_F(InspectSamplesTest, WithoutTheDataSetNumbersAreShownAndANoteSaysSo) {
  const auto file = save({}, "");
  const auto lack = "predictions file '" + file + "' does not name it";
  EXPECT_THAT(show(file, {"--show=1"}),
              ElementsAre(HasSubstr("1 of 8 rows"), "rows:", "  index  label  prediction  loss",
                          "  0      0      0           0.5"));
  EXPECT_EQ(said_,
            "tally: note: names, groups and texts of the data set are not shown: " + lack + "\n");
  EXPECT_EQ(indices(show(file, {"--class=1"})), (Numbers{1, 4, 7}));
  expect_error(ErrorKind::usage,
               {"--predicted by name needs the data set: " + lack, "Name it with --data FILE."},
               [&] { show(file, {"--predicted=class1"}); });
  expect_error(ErrorKind::usage, {"--group needs the data set: " + lack},
               [&] { show(file, {"--group=camera=1"}); });
}

TEST_F(InspectSamplesTest, AnotherDataSetIsNotTaken) {
  const auto file = save(at("gone.h5"), data::DataSet(at("a.h5")).identity());
  show(file, {"--show=1"});
  EXPECT_THAT(said_, HasSubstr("gone.h5")) << "why it is not shown";
  EXPECT_THAT(show(file, {"--show=1", "--data", at("a.h5")})[3], HasSubstr("0 class0"));
  EXPECT_EQ(said_, "");
  expect_error(ErrorKind::dataset, {"gone.h5"}, [&] {
    show(file, {"--show=1", "--data", at("gone.h5")});
  });
  data::SampleFile{.num_samples = 9, .num_classes = 3}.write(at("b.h5"));
  EXPECT_THAT(show(file, {"--show=1", "--data", at("b.h5")})[3], Not(HasSubstr("class0")));
  EXPECT_THAT(said_, HasSubstr("'" + at("b.h5") + "' is not the data set that was evaluated\n"));
}

// Its targets may be those of no task that is known.
TEST_F(InspectSamplesTest, OfOutputsThatWereNotScoredTheTargetsAreLeftOut) {
  raw::edit(at("a.h5"), [](hid_t file) { raw::remove(file, "/targets/label"); });
  hdf5::Writer writer(at("q.h5"));
  writer.set_attribute("/", "tally_predictions", 1);
  writer.set_attribute("/", "task", "predict");
  writer.set_attribute("/", "data", at("a.h5"));
  writer.set_attribute("/", "data_identity",
                       data::DataSet(at("a.h5"), data::Targets::left_out).identity());
  writer.write("/index", {2}, Numbers{2, 3});
  writer.close();
  EXPECT_EQ(show(at("q.h5"), {"--group=camera=1"})[3], "  3      1       1");
  EXPECT_EQ(said_, "");
  expect_error(ErrorKind::usage, {"the rows of the task predict are neither right nor wrong"},
               [&] { show(at("q.h5"), {"--worst=1"}); });
}

}  // namespace
}  // namespace tally::app
