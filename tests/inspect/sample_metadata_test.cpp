// SPDX-License-Identifier: Apache-2.0
// What a data set knows of the units of saved predictions: groups, questions, choices, objects.
#include "sample_metadata.hpp"

#include <utility>

#include "expect_error.hpp"
#include "inspect_fixture.hpp"
#include "object_file.hpp"
#include "question_file.hpp"
#include "sample_file.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Marks = std::vector<std::uint8_t>;

class SampleMetadataTest : public InspectFixture {
 protected:
  template <class File>
  SampleMetadata open(const File& file) {
    file.write(at("a.h5"));
    return SampleMetadata(data::DataSet(at("a.h5")));
  }
  // The same with a group of these values, one for each sample.
  template <class File>
  SampleMetadata open(const File& file, const std::vector<std::int32_t>& group) {
    file.write(at("a.h5"));
    raw::edit(at("a.h5"), [&](hid_t opened) {
      raw::dataset(opened, "/groups/g", H5T_STD_I32LE, {group.size()}, group.data());
    });
    return SampleMetadata(data::DataSet(at("a.h5")));
  }
};

// "name value", of texts "name: value".
std::vector<std::string> details_of(SampleMetadata& known, std::int64_t index) {
  std::vector<std::string> lines;
  for (const auto& detail : known.of(index)) {
    lines.push_back(detail.name + (detail.is_text ? ": " : " ") + detail.value);
  }
  return lines;
}

Marks kept(SampleMetadata& known, std::int32_t value, const std::vector<std::int64_t>& units,
           Marks keep) {
  known.keep_group(known.info().columns.groups.at(0), value, units, keep);
  return keep;
}

TEST_F(SampleMetadataTest, WithoutUnitsASampleHasItsGroups) {
  auto known = open(data::SampleFile{});
  EXPECT_THAT(details_of(known, 4), ElementsAre("camera 1"));
  EXPECT_THAT(known.values_of(known.info().columns.groups[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(kept(known, 1, {0, 3, 5, 6, 9}, Marks(5, 1)), (Marks{0, 1, 1, 0, 0}));
  EXPECT_EQ(kept(known, 1, {3, 4}, {0, 1}), (Marks{0, 1})) << "what is cleared stays so";
  EXPECT_THAT(kept(known, 1, {}, {}), IsEmpty());
}

TEST_F(SampleMetadataTest, SamplesMayHaveNames) {
  auto known = open(data::SampleFile{.num_samples = 3, .names = {"a/1.png", "", "\x1b[m"}});
  EXPECT_THAT(details_of(known, 0), ElementsAre("name a/1.png", "camera 0"));
  EXPECT_THAT(details_of(known, 1), ElementsAre("name ", "camera 0"));
  EXPECT_THAT(details_of(known, 2), ElementsAre("name \\x1b[m", "camera 0"));
  EXPECT_EQ(known.name_of(2), "\x1b[m");
}

TEST_F(SampleMetadataTest, UnitsThatAreNotThereAreDamage) {
  auto known = open(data::SampleFile{});
  const std::string step = "The data set or the predictions file is damaged.";
  expect_error(ErrorKind::dataset, {"a.h5' has no unit 10: it has 10", step},
               [&] { known.of(10); });
  expect_error(ErrorKind::dataset, {"has no unit -1: it has 10", step}, [&] { known.of(-1); });
  expect_error(ErrorKind::dataset, {"has no unit 11", step}, [&] {
    kept(known, 1, {2, 11}, {1, 1});
  });
}

// Windows 0 to 2 are of question 0, 3 of question 1 and 4 of question 2.
TEST_F(SampleMetadataTest, AQuestionHasTheGroupOfItsFirstWindow) {
  auto known = open(data::QuestionFile{}, {10, 11, 12, 13, 14});
  EXPECT_THAT(details_of(known, 0),
              ElementsAre("g 10", "question: Where does Zoë live?", "gold answers: 東京 | Tokyo"));
  EXPECT_THAT(details_of(known, 1),
              ElementsAre("g 13", "question: With whom?", "gold answers: (none)"));
  EXPECT_THAT(details_of(known, 2), ElementsAre("g 14", "question: ", "gold answers: Cats"));
  expect_error(ErrorKind::dataset, {"has no unit 3: it has 3"}, [&] { known.of(3); });
  EXPECT_EQ(kept(known, 13, {0, 1, 2}, Marks(3, 1)), (Marks{0, 1, 0}));
  EXPECT_EQ(kept(known, 11, {0, 1, 2}, Marks(3, 1)), (Marks{0, 0, 0})) << "no question's first";
  EXPECT_THAT(details_of(known, 2), ElementsAre("g 14", "question: ", "gold answers: Cats"));
}

TEST_F(SampleMetadataTest, AQuestionWithoutAWindowIsDamage) {
  data::QuestionFile questions;
  questions.windows[4].unit = 1;  // none is left for question 2
  auto known = open(questions, {10, 11, 12, 13, 14});
  EXPECT_THAT(details_of(known, 1), testing::Contains("g 13"));
  expect_error(ErrorKind::dataset, {"has no sample of unit 2"}, [&] { known.of(2); });
  expect_error(ErrorKind::dataset, {"has units without samples"},
               [&] { kept(known, 13, {1}, {1}); });
}

TEST_F(SampleMetadataTest, UnitsOfAFileThatAreInNoOrderAreDamage) {
  auto known = open(data::QuestionFile{}, {10, 11, 12, 13, 14});
  expect_error(ErrorKind::dataset, {"does not have the units in their order"}, [&] {
    kept(known, 13, {0, 2, 1}, Marks(3, 1));
  });
}

// Questions 0 and 1 have three choices and two.
TEST_F(SampleMetadataTest, AMultipleChoiceHasItsChoices) {
  auto known = open(data::choice_file(), {1, 2, 3, 4, 5});
  EXPECT_THAT(details_of(known, 0), ElementsAre("g 1", "question: Who?", "choices: I | you | "));
  EXPECT_THAT(details_of(known, 1), ElementsAre("g 4", "question: 東京?", "choices: yes | no"));
  EXPECT_EQ(kept(known, 4, {0, 1}, Marks(2, 1)), (Marks{0, 1}));
}

TEST_F(SampleMetadataTest, TextsCannotSteerATerminal) {
  auto file = data::choice_file();
  file.questions[0] = "a\x1b[2J\n";
  file.choices[3] = "\x07";
  auto known = open(file);
  EXPECT_THAT(details_of(known, 0), testing::Contains("question: a\\x1b[2J\\x0a"));
  EXPECT_THAT(details_of(known, 1), testing::Contains("choices: \\x07 | no"));
}

TEST_F(SampleMetadataTest, ADocumentHasItsGroupsAlone) {
  auto known = open(data::document_file());
  EXPECT_THAT(details_of(known, 2), IsEmpty());
  expect_error(ErrorKind::dataset, {"has no unit 3: it has 3"}, [&] { known.of(3); });
}

TEST_F(SampleMetadataTest, AnImageHasItsNumberAndItsObjects) {
  auto known = open(data::ObjectFile{});
  EXPECT_THAT(details_of(known, 0),
              ElementsAre("image: 42", "objects: 2 [1, 2, 30, 40] | 0 (crowd) [-1.5, 0.25, 0, 0]"));
  EXPECT_THAT(details_of(known, 1), ElementsAre("image: 139", "objects: (none)"));
}

TEST_F(SampleMetadataTest, ObjectsHaveTheNamesOfTheirClasses) {
  data::ObjectFile{}.write(at("a.h5"));
  raw::edit(at("a.h5"), [](hid_t file) {
    const hid_t type = raw::ok(H5Tcopy(H5T_C_S1));
    raw::ok(H5Tset_size(type, 3));
    raw::dataset(file, "/class_names", type, {3}, "catdogowl");
    raw::ok(H5Tclose(type));
  });
  SampleMetadata known(data::DataSet(at("a.h5")));
  EXPECT_THAT(details_of(known, 2), ElementsAre("image: 285", "objects: dog [5, 6, 7.5, 8]"));
}

}  // namespace
}  // namespace tally::app
