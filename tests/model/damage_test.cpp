// SPDX-License-Identifier: Apache-2.0
// One changed bit of a model file is seen, or changes nothing.
#include <random>

#include <tally/model/describe_model.hpp>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

std::vector<std::string> digests(LoadedModel& loaded) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < loaded.num_tensors(); ++i) found.push_back(loaded.tensor_digest(i));
  return found;
}

std::string card_text(const NamedBytes& model) {
  std::string text;
  for (const auto& line : describe_model(model)) text += line + "\n";
  return text;
}

TEST(DamageTest, NoBitMakesAnotherModel) {
  const File intact("net.pt");
  const auto expected = digests(*load_model(intact, plainly()));
  const auto description = card_text(intact);
  const auto outputs = read_floats("net.f32");
  ASSERT_FALSE(expected.empty());
  std::mt19937 random(24);
  int refused = 0;
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    File changed = intact;
    changed.bytes[random() % changed.bytes.size()] ^= static_cast<std::byte>(1 << (random() % 8));
    std::unique_ptr<LoadedModel> loaded;
    try {
      loaded = load_model(changed, plainly());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
      continue;
    }
    EXPECT_EQ(digests(*loaded), expected);
    EXPECT_EQ(card_text(changed), description);
    // Freezing takes its time.
    if (same++ % 8 == 0) {
      EXPECT_EQ(run(*loaded->into_predictor()), outputs);
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(same, 8);
}

}  // namespace
}  // namespace tally::model
