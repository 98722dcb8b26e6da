// SPDX-License-Identifier: Apache-2.0
#include "onnx_weights.hpp"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace tally::openvino {
namespace {

using protozero::pbf_writer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void add_entry(pbf_writer& tensor, const std::string& key, const std::string& value) {
  pbf_writer entry(tensor, 13);
  entry.add_string(1, key);
  entry.add_string(2, value);
}

struct Place {
  std::string file, offset, length;
};

// A tensor of two float32 named `name`, with its values elsewhere.
void add_tensor(pbf_writer& parent, protozero::pbf_tag_type field, const std::string& name,
                const Place& place) {
  pbf_writer tensor(parent, field);
  tensor.add_int64(1, 2);
  tensor.add_int32(2, 1);
  tensor.add_string(8, name);
  add_entry(tensor, "location", place.file);
  if (!place.offset.empty()) add_entry(tensor, "offset", place.offset);
  if (!place.length.empty()) add_entry(tensor, "length", place.length);
  tensor.add_enum(14, 1);
}

// One tensor in the graph, one in a branch of it.
std::string model_with(const Place& outer, const Place& inner) {
  std::string text;
  pbf_writer model(text);
  model.add_int64(1, 8);
  pbf_writer graph(model, 7);
  {
    pbf_writer node(graph, 1);
    node.add_string(4, "If");
    pbf_writer attribute(node, 5);
    attribute.add_float(2, 0.5f);
    pbf_writer branch(attribute, 6);
    add_tensor(branch, 5, "b", inner);
  }
  add_tensor(graph, 5, "w", outer);
  return text;
}

// The raw values of the first tensor of the graph.
std::string raw_of_graph(const std::string& text) {
  protozero::pbf_reader model(text);
  while (model.next(7)) {
    auto graph = model.get_message();
    while (graph.next(5)) {
      auto tensor = graph.get_message();
      while (tensor.next(9)) return tensor.get_string();
    }
  }
  return "none";
}

TEST(OnnxWeightsTest, NamesFilesOfTheGraphAndOfItsBranches) {
  const auto text = model_with({"w.bin", "", ""}, {"a/b.bin", "4", "8"});
  EXPECT_THAT(weights_files_of_onnx(bytes_of(text)), ElementsAre("a/b.bin", "w.bin"));
}

TEST(OnnxWeightsTest, PutsTheBytesInTheirPlaces) {
  const auto text = model_with({"w.bin", "2", "8"}, {"w.bin", "", ""});
  const std::string file = "..12345678..";
  const WeightsFile files[] = {{"w.bin", bytes_of(file)}};
  const auto embedded = with_weights(bytes_of(text), files);
  EXPECT_EQ(raw_of_graph(embedded), "12345678");
  EXPECT_THAT(weights_files_of_onnx(bytes_of(embedded)), IsEmpty());
  EXPECT_EQ(with_weights(bytes_of(embedded), {}), embedded);
}

TEST(OnnxWeightsTest, WhatIsMissingIsSaid) {
  const std::string file = "12345678";
  const WeightsFile files[] = {{"w.bin", bytes_of(file)}};
  const auto embed = [&](const Place& place) {
    return [&, place] { with_weights(bytes_of(model_with(place, place)), files); };
  };
  EXPECT_THAT(embed({"v.bin", "", ""}),
              ThrowsMessage<std::runtime_error>(HasSubstr("'v.bin' with weights is missing")));
  for (const Place& place : {Place{"w.bin", "4", "8"}, Place{"w.bin", "9", ""},
                             Place{"w.bin", "18446744073709551615", "1"}}) {
    EXPECT_THAT(embed(place), ThrowsMessage<std::runtime_error>(HasSubstr("too short")));
  }
  EXPECT_THAT(embed({"w.bin", "-1", ""}),
              ThrowsMessage<std::runtime_error>(HasSubstr("is no number")));
  EXPECT_THAT(embed({"", "", ""}),
              ThrowsMessage<std::runtime_error>(HasSubstr("does not say where")));
}

TEST(OnnxWeightsTest, DeepMessagesAreRefused) {
  std::string inner;
  for (int level = 0; level < 60; ++level) {  // each a graph, a node and an attribute
    std::string text;
    {
      pbf_writer graph(text);
      pbf_writer node(graph, 1);
      pbf_writer attribute(node, 5);
      attribute.add_message(6, inner);
    }
    inner = text;
  }
  std::string model;
  pbf_writer(model).add_message(7, inner);
  EXPECT_THAT([&] { weights_files_of_onnx(bytes_of(model)); },
              ThrowsMessage<std::runtime_error>(HasSubstr("too deeply")));
}

}  // namespace
}  // namespace tally::openvino
