// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <tally/base/format.hpp>

#include "symptom_rules.hpp"

namespace tally::diagnosis {
namespace {

// Bytes from 0 to 255 that only go up to here are numbers of another scale.
constexpr std::int64_t kDarkest = 32;
constexpr double kByteScale = 1.0 / 255;
// A mean of normalised pixels that is so many of their deviations away from 0, or a deviation of
// these that is so large, is none that a network is trained with: Caffe's, of bytes less their
// mean, are some 60.
constexpr double kFarMean = 20;
constexpr double kLargeDeviation = 100;
// Floats that are whole numbers up to here or more are pixels that nobody scaled.
constexpr double kWholeNumbers = 8;
// How near the mean of a channel must be to that of the normalisation, at least, as a share of 255.
constexpr double kNear = 0.02;
constexpr double kDeviations = 3;

double largest_of(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

bool is_identity(const ImageNumbers& numbers) {
  return numbers.scale == 1 && std::ranges::all_of(numbers.mean, [](double m) { return m == 0; }) &&
         std::ranges::all_of(numbers.std, [](double s) { return s == 1; });
}

std::optional<Symptom> look_at_range(const ImageStatistics& images, const ImageNumbers& numbers,
                                     bool is_of_card) {
  const bool is_for_bytes = std::abs(numbers.scale - kByteScale) < kByteScale / 2;
  const auto smallest = images.smallest, largest = images.largest;
  if (is_for_bytes && largest <= kDarkest) {
    return Symptom{"pixels_of_other_scale",
                   format("The stored pixels go up to {} only, and their scale "
                          "{:.4g} is for bytes up to 255: prepare them with the scale of their "
                          "numbers (--scale)",
                          images.largest, numbers.scale)};
  }
  if (is_identity(numbers) && !is_of_card && largest > 1) {
    return Symptom{"pixels_not_normalised",
                   format("Pixels from {} to {} reach the model as they are stored: was it "
                          "trained without --scale, --mean and --std?",
                          smallest, largest)};
  }
  for (std::size_t c = 0; c < images.mean.size(); ++c) {
    const double mean = (images.mean[c] * numbers.scale - numbers.mean[c]) / numbers.std[c];
    const double deviation = images.deviation[c] * numbers.scale / numbers.std[c];
    if (deviation == 0) continue;  // one colour
    if (std::abs(mean) < kFarMean * deviation && deviation < kLargeDeviation) continue;
    return Symptom{
        "normalisation_misfit",
        format("The normalisation (scale {:.4g}, mean {:.4g}, std {:.4g}) makes {:.3g} +- "
               "{:.3g} of the pixels, where networks are trained with some "
               "0 +- 1: is it meant for numbers of another scale?",
               numbers.scale, numbers.mean[c], numbers.std[c], mean, deviation)};
  }
  return std::nullopt;
}

// Means in the order of the normalisation.
bool fits(const ImageStatistics& images, const ImageNumbers& numbers, bool reversed) {
  const auto channels = images.mean.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const auto from = reversed ? channels - 1 - c : c;
    const double error = std::abs(images.mean[from] * numbers.scale - numbers.mean[c]);
    const double bound = std::max(kNear * 255, kDeviations * images.standard_error[from]);
    if (error > bound * numbers.scale) return false;
  }
  return true;
}

std::optional<Symptom> look_at_channels(const ImageStatistics& images, const ImageNumbers& numbers,
                                        bool is_reversed_already) {
  if (images.mean.size() != 3 || numbers.mean.size() != 3) return std::nullopt;
  // Means that hardly differ tell no order.
  const double spread =
      largest_of(numbers.mean) - *std::min_element(numbers.mean.begin(), numbers.mean.end());
  if (spread < kNear * 255 * numbers.scale) return std::nullopt;
  if (fits(images, numbers, is_reversed_already) || !fits(images, numbers, !is_reversed_already)) {
    return std::nullopt;
  }
  return Symptom{"channels_reversed",
                 "The mean colours of the images fit the normalisation only with the channels "
                 "reversed: are the images stored as BGR and called RGB, or the other way round "
                 "(--channels)?"};
}

// Floats reach the model as they are; a card that says how bytes are normalised says what comes of
// it.
std::optional<Symptom> look_at_floats(const FloatImages& images, const Evidence& evidence) {
  if (images.are_whole && images.largest >= kWholeNumbers && images.smallest >= 0) {
    return Symptom{
        "pixels_not_normalised",
        format("The images are whole numbers from {:g} to {:g}, which reach the model as "
               "they are: normalise them, or store them as bytes with their scale, mean "
               "and std",
               images.smallest, images.largest)};
  }
  const auto& numbers = evidence.normalisation;
  if (!numbers || !evidence.is_of_card || numbers->mean.empty()) return std::nullopt;
  const double lowest = (0 - largest_of(numbers->mean)) / largest_of(numbers->std);
  // Values from 0 to 1 are those before mean and std; a batch of normalised ones has some below 0.
  const bool is_before = images.smallest >= 0 && lowest < -0.5 && images.largest <= 1;
  if (!is_before) return std::nullopt;
  return Symptom{
      "pixels_not_normalised",
      format("The images lie within {:g} and {:g}, as before the normalisation that the "
             "model card names (mean {:.4g}, std {:.4g}): subtract the mean and divide by "
             "the std, or store bytes",
             images.smallest, images.largest, numbers->mean[0], numbers->std[0])};
}

}  // namespace

void look_at_images(const Evidence& evidence, Symptoms& found) {
  if (evidence.first_batch && evidence.first_batch->images) {
    if (auto symptom = look_at_floats(*evidence.first_batch->images, evidence)) {
      found.push_back(std::move(*symptom));
    }
  }
  const auto& numbers = evidence.normalisation;
  if (!evidence.images || !numbers || numbers->mean.size() != evidence.images->mean.size()) return;
  if (auto symptom = look_at_range(*evidence.images, *numbers, evidence.is_of_card)) {
    found.push_back(std::move(*symptom));
    return;
  }
  const bool is_reversed = evidence.stored_channels != numbers->channels;
  if (auto symptom = look_at_channels(*evidence.images, *numbers, is_reversed)) {
    found.push_back(std::move(*symptom));
  }
}

}  // namespace tally::diagnosis
