// SPDX-License-Identifier: Apache-2.0
// What a loop notices beside counts and records: it is kept with the progress of a run, so that a
// run that was resumed reports what one that was not does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tally/diagnosis/first_batch.hpp>
#include <tally/diagnosis/pixel_sums.hpp>
#include <tally/evaluate/loop.hpp>

namespace tally::app {

struct LoopObservations {
  evaluate::NotFinite not_finite;
  diagnosis::PixelSums pixels;
  std::optional<diagnosis::FirstBatch> first_batch;  // of the whole data set
};

// JSON. observations_from() returns none for a text that is none of these.
std::string to_text(const LoopObservations& observations);
std::optional<LoopObservations> observations_from(std::string_view text);

}  // namespace tally::app
