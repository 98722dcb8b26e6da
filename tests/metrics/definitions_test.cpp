// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/output_kind_and_conventions.hpp>

#include "expect_error.hpp"

namespace tally::metrics {
namespace {

TEST(Definitions, NamesGoBothWays) {
  EXPECT_EQ(name(Definitions::torchmetrics), "torchmetrics");
  EXPECT_EQ(name(Definitions::sklearn), "sklearn");
  for (const auto definitions : {Definitions::torchmetrics, Definitions::sklearn}) {
    EXPECT_EQ(definitions_from_name(name(definitions)), definitions);
  }
}

TEST(Definitions, AnUnknownNameIsRefusedWithTheKnownOnes) {
  expect_error(ErrorKind::usage, {"'torcheval'", "torchmetrics, sklearn"},
               [] { definitions_from_name("torcheval"); });
}

}  // namespace
}  // namespace tally::metrics
