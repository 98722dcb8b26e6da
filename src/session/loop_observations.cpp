// SPDX-License-Identifier: Apache-2.0
#include <tally/session/loop_observations.hpp>

#include <nlohmann/json.hpp>

namespace tally::app {
namespace {

using Json = nlohmann::json;
using diagnosis::FirstBatch;
using diagnosis::PixelSums;

Json pixels_json(const PixelSums& pixels) {
  Json channels = Json::array();
  for (const auto& one : pixels.channels) {
    channels.push_back({one.sum, one.squares, one.image_squares});
  }
  return {{"num_channels", pixels.num_channels},
          {"num_images", pixels.num_images},
          {"pixels_per_image", pixels.pixels_per_image},
          {"channels", std::move(channels)},
          {"smallest", pixels.smallest},
          {"largest", pixels.largest}};
}

PixelSums pixels_from(const Json& json) {
  PixelSums pixels;
  json.at("num_channels").get_to(pixels.num_channels);
  json.at("num_images").get_to(pixels.num_images);
  json.at("pixels_per_image").get_to(pixels.pixels_per_image);
  json.at("smallest").get_to(pixels.smallest);
  json.at("largest").get_to(pixels.largest);
  for (std::size_t c = 0; c < pixels.channels.size(); ++c) {
    const Json& one = json.at("channels").at(c);
    pixels.channels[c] = {one.at(0).get<std::int64_t>(), one.at(1).get<std::int64_t>(),
                          one.at(2).get<std::int64_t>()};
  }
  return pixels;
}

// Numbers of type double are written such that they come back to the bit.
Json first_batch_json(const FirstBatch& batch) {
  Json json{{"inputs_are_the_same", batch.inputs_are_the_same}, {"images", {}}, {"scores", {}}};
  if (const auto& images = batch.images) {
    json["images"] = {{"smallest", images->smallest},
                      {"largest", images->largest},
                      {"are_whole", images->are_whole}};
  }
  if (const auto& scores = batch.scores) {
    json["scores"] = {{"num_samples", scores->num_samples},
                      {"num_values", scores->num_values},
                      {"are_within_0_and_1", scores->are_within_0_and_1},
                      {"add_up_to_1", scores->add_up_to_1},
                      {"are_the_same", scores->are_the_same}};
  }
  return json;
}

FirstBatch first_batch_from(const Json& json) {
  FirstBatch batch;
  json.at("inputs_are_the_same").get_to(batch.inputs_are_the_same);
  if (const Json& images = json.at("images"); !images.is_null()) {
    batch.images = {images.at("smallest").get<double>(), images.at("largest").get<double>(),
                    images.at("are_whole").get<bool>()};
  }
  if (const Json& scores = json.at("scores"); !scores.is_null()) {
    batch.scores = {.num_samples = scores.at("num_samples").get<std::int64_t>(),
                    .num_values = scores.at("num_values").get<std::int64_t>(),
                    .are_within_0_and_1 = scores.at("are_within_0_and_1").get<bool>(),
                    .add_up_to_1 = scores.at("add_up_to_1").get<bool>(),
                    .are_the_same = scores.at("are_the_same").get<bool>()};
  }
  return batch;
}

}  // namespace

std::string to_text(const LoopObservations& observations) {
  Json json{{"not_finite", observations.not_finite.count},
            {"first_not_finite", observations.not_finite.first_indices},
            {"pixels", pixels_json(observations.pixels)},
            {"first_batch", {}}};
  if (observations.first_batch) json["first_batch"] = first_batch_json(*observations.first_batch);
  return json.dump();
}

std::optional<LoopObservations> observations_from(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    LoopObservations found;
    json.at("not_finite").get_to(found.not_finite.count);
    json.at("first_not_finite").get_to(found.not_finite.first_indices);
    found.pixels = pixels_from(json.at("pixels"));
    if (const Json& batch = json.at("first_batch"); !batch.is_null()) {
      found.first_batch = first_batch_from(batch);
    }
    return found;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace tally::app
