// SPDX-License-Identifier: Apache-2.0
// Files of the classes that are scored, and what is refused beside them.
#include "valid_classes.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Names = std::vector<std::string>;

std::vector<std::int64_t> parse(const std::string& text, const Names& names = {}) {
  return parse_valid_classes(text, "valid.txt", 5, names);
}

TEST(ParseValidClasses, TakesNumbersAndNames) {
  EXPECT_THAT(parse("3\n\n 1 \r\n0"), ElementsAre(0, 1, 3));
  EXPECT_THAT(parse("dog\nCat\n", {"cat", "dog", "a", "b", "c"}), ElementsAre(0, 1));
  EXPECT_THAT(parse("4\n", {"4", "3", "2", "1", "0"}), ElementsAre(0)) << "a name comes first";
  EXPECT_THAT(parse("n00000002\n",
                    {"n00000001 a", "n00000002 b", "n00000003 c", "n00000004 d", "n00000005 e"}),
              ElementsAre(1));
}

std::string refusal(const std::string& text, const Names& names = {}) {
  try {
    parse(text, names);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "none";
}

TEST(ParseValidClasses, NamesTheLineThatIsWrong) {
  EXPECT_THAT(refusal("1\n5\n"), HasSubstr("'valid.txt' line 2: '5' is not one of the 5 classes"));
  EXPECT_THAT(refusal("-1"), HasSubstr("line 1: '-1'"));
  EXPECT_THAT(refusal("1\n\nbird\n", {"cat", "dog", "a", "b", "c"}), HasSubstr("line 3: 'bird'"));
  EXPECT_THAT(refusal("2\n1\n2\n"), HasSubstr("name class 2 twice"));
  EXPECT_THAT(refusal(" \n"), HasSubstr("name no class"));
}

class ValidClassesTest : public SessionFixture {
 protected:
  ValidClassesTest() {
    config_.scoring.valid_classes = folder_ / "valid.txt";
    if (world().is_root()) std::ofstream(config_.scoring.valid_classes) << "class3\n1\n";
    world().barrier();
  }
  std::string refusal(EvaluationSession& session) {
    Notes notes;
    return agreed_refusal(ErrorKind::usage, [&] { choose_valid_classes(world(), session, notes); });
  }
};

TEST_F(ValidClassesTest, TheOthersAreLeftOut) {
  auto session = open(data::SampleFile{});
  Notes notes;
  choose_valid_classes(world(), session, notes);
  EXPECT_THAT(session.scoring.excluded_classes, ElementsAre(0, 2, 4));
  EXPECT_THAT(predictor_of(session).excluded, ElementsAre(0, 2, 4));
  EXPECT_EQ(session.scoring.valid_classes_digest.size(), 64U);
  EXPECT_THAT(notes.all(), ElementsAre(HasSubstr("2 of 5 classes are valid")));
}

TEST_F(ValidClassesTest, AFileThatIsNotThereIsRefused) {
  config_.scoring.valid_classes = folder_ / "none.txt";
  auto session = open(data::SampleFile{});
  EXPECT_THAT(refusal(session), HasSubstr("none.txt"));
}

TEST_F(ValidClassesTest, OnlyLogitsOfClassesCanLeaveSomeOut) {
  tasks::TaskOptions options;
  options.outputs = metrics::OutputKind::probabilities;
  auto probabilities = open(data::SampleFile{}, options);
  EXPECT_THAT(refusal(probabilities), HasSubstr("needs logits, the model returns probabilities"));
  config_.scoring.label_smoothing = 0.1;
  auto smoothed = open(data::SampleFile{});
  EXPECT_THAT(refusal(smoothed), HasSubstr("--label-smoothing"));
}

}  // namespace
}  // namespace tally::app
