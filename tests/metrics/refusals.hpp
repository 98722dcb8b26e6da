// SPDX-License-Identifier: Apache-2.0
// What a choice of metrics is answered with.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <tally/base/error.hpp>
#include <tally/metrics/metric_set.hpp>

namespace tally::metrics {

// The line that refuses these options.
inline std::string message_of(const MetricOptions& options) {
  try {
    const MetricSet metrics(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace tally::metrics
