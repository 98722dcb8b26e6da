// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include <tally/base/json_depth.hpp>

namespace tally {
namespace {

TEST(JsonDepth, CountsListsAndObjects) {
  EXPECT_FALSE(is_nested_deeper("3", 0));
  EXPECT_TRUE(is_nested_deeper("[3]", 0));
  EXPECT_FALSE(is_nested_deeper(R"([[1], {"a": []}, [2]])", 3));
  EXPECT_TRUE(is_nested_deeper(R"([[1], {"a": []}, [2]])", 2));
  EXPECT_TRUE(is_nested_deeper(std::string(1'000'000, '['), 1000));
}

TEST(JsonDepth, BracketsInTextsDoNotCount) {
  EXPECT_FALSE(is_nested_deeper(R"({"[[\"[[": "{{\\"})", 1));
  EXPECT_TRUE(is_nested_deeper(R"({"a\\": [1]})", 1));
}

TEST(JsonDepth, DamagedTextsEnd) {
  for (const char* text : {"", "\"", "\"\\", "]]]", "}{"}) {
    EXPECT_FALSE(is_nested_deeper(text, 1)) << text;
  }
}

}  // namespace
}  // namespace tally
