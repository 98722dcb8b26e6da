// SPDX-License-Identifier: Apache-2.0
// Damaged packages are read or refused, never anything else.
#include <tally/base/byte_conversions.hpp>
#include <tally/model/describe_model.hpp>

#include "model_fixture.hpp"
#include "mutator.hpp"

namespace tally::model {
namespace {

TEST(PackageFuzzTest, HeadsAndTails) {
  const auto bytes = read_file(std::filesystem::path(TALLY_MODEL_PACKAGES) / "frozen.pt2",
                               ErrorKind::model, "package");
  const std::string original(as_text(bytes));
  Mutator mutator(6);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    // Sources and metadata come first, the directory last, the library between them.
    auto head = original.substr(0, original.size() / 8);
    auto tail = original.substr(original.size() - 2000);
    const auto middle = original.substr(head.size(), original.size() - head.size() - tail.size());
    (round % 2 == 0 ? head : tail) = mutator.damage(round % 2 == 0 ? head : tail);
    try {
      describe_model({"package", as_bytes(head + middle + tail)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace tally::model
