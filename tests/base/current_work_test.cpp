// SPDX-License-Identifier: Apache-2.0
#include <tally/base/current_work.hpp>

#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally {
namespace {

class CurrentWork : public testing::Test {
 protected:
  CurrentWork() { begin_phase(""); }
  ~CurrentWork() override { begin_phase(""); }
  static std::string object() { return std::string(current_object().view()); }
};

TEST_F(CurrentWork, ScopesNestAndEnd) {
  EXPECT_EQ(object(), "");
  {
    const WorkScope outer("model 'm'");
    {
      const WorkScope inner("data set 'd'");
      note_samples(8, 4);
      EXPECT_EQ(object(), "data set 'd', samples 8 to 11");
    }
    EXPECT_EQ(object(), "model 'm'");
  }
  EXPECT_EQ(object(), "");
  note_samples(1, 1);  // with no scope there is nothing to add it to
  EXPECT_EQ(object(), "");
}

TEST_F(CurrentWork, BeforeAPhaseIsTheStart) {
  EXPECT_EQ(current_work().view(), "start");
  begin_phase("gather");
  const WorkScope file("predictions.h5");
  EXPECT_EQ(current_work().view(), "gather, predictions.h5");
}

TEST_F(CurrentWork, AnExceptionLeavesWhatItWasAbout) {
  begin_phase("open_data");
  try {
    const WorkScope outer("the outer one");
    const WorkScope data("data set 'd'");
    note_samples(0, 2);
    throw std::bad_alloc();
  } catch (...) {
    EXPECT_EQ(object(), "data set 'd', samples 0 to 1");
    const Error error = current_error();
    EXPECT_EQ(error.problem(), "out of memory (open_data, data set 'd', samples 0 to 1)");
    EXPECT_EQ(error.next_step(), "Use fewer ranks on a node, or a node with more memory.");
  }
  begin_phase("gather");
  EXPECT_EQ(object(), "") << "that phase is over";
}

TEST_F(CurrentWork, MemoryAdviceIsThatOfThePhase) {
  const auto advice = [](const char* phase) {
    begin_phase(phase);
    try {
      throw std::bad_alloc();
    } catch (...) {
      return std::string(current_error().next_step());
    }
  };
  EXPECT_NE(advice("gather").find("--gather-window"), std::string::npos);
  EXPECT_NE(advice("reduce").find("--confusion-max-classes"), std::string::npos);
  EXPECT_EQ(advice("settings").find("--"), std::string::npos);
}

TEST_F(CurrentWork, AThreadWithoutAScopeHasThatOfTheMainOne) {
  const WorkScope model("model 'm'");
  std::thread([] {
    EXPECT_EQ(object(), "model 'm'");
    const WorkScope own("data set 'd'");
    EXPECT_EQ(object(), "data set 'd'");
  }).join();
  EXPECT_EQ(object(), "model 'm'");
}

TEST_F(CurrentWork, LongNamesAreCutBetweenCharacters) {
  std::string name(158, 'x');
  name += "ö";  // the 159th and 160th byte
  const WorkScope whole(name);
  EXPECT_EQ(object(), name);
  const WorkScope cut("y" + name);
  EXPECT_EQ(object(), "y" + name.substr(0, 158));
}

TEST(FixedText, TimesAreThoseOfTheCalendar) {
  EXPECT_EQ(utc_text(0).view(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(951782399).view(), "2000-02-28T23:59:59Z");
  EXPECT_EQ(utc_text(951782400).view(), "2000-02-29T00:00:00Z");
}

TEST(FixedText, JsonIsEscaped) {
  FixedText<40> text;
  append_json(text, "a \"b\" \\ c\nö");
  EXPECT_EQ(text.view(), "a \\\"b\\\" \\\\ c ö");
}

TEST(ErrorParts, AreThoseItWasMadeOf) {
  const Error error(ErrorKind::dataset, "no labels. None at all", "Add them.");
  EXPECT_EQ(error.problem(), "no labels. None at all");
  EXPECT_EQ(error.next_step(), "Add them.");
  const Error alone(ErrorKind::usage, "no");
  EXPECT_EQ(alone.problem(), "no");
  EXPECT_EQ(alone.next_step(), "");
}

}  // namespace
}  // namespace tally
