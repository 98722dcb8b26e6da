// Damaged weights files are read or refused, never anything else. Fixed seeds.
#include <random>

#include "archive.hpp"
#include "byte_text.hpp"
#include "format_error.hpp"
#include "model_fixture.hpp"
#include "pickle_reader.hpp"
#include "weights_file.hpp"

namespace tally::model {
namespace {

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string damage(std::string text) {
    const auto num_changes = 1 + random_() % 4;
    for (std::size_t i = 0; i < num_changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    const auto at = random_() % text.size();
    switch (random_() % 5) {
      case 0:
        text[at] = static_cast<char>(random_());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << (random_() % 8)));
        break;
      case 2:
        text.erase(at, 1 + random_() % 16);
        break;
      case 3:
        text.insert(at, text.substr(random_() % text.size(), random_() % 32));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937 random_;
};

// Touches every byte of every tensor, so that one out of bounds is seen.
std::size_t sum_of_bytes(const StoredWeights& weights) {
  std::size_t sum = 0;
  for (const auto& entry : weights.tensors) {
    for (const auto byte : entry.second.bytes) sum += std::to_integer<std::size_t>(byte);
  }
  return sum;
}

int refused_of(const std::string& name, const std::string& original, int num_rounds) {
  Mutator mutator(static_cast<unsigned>(original.size()));
  int refused = 0;
  for (int round = 0; round < num_rounds; ++round) {
    const auto text = mutator.damage(original);
    try {
      sum_of_bytes(read_weights({name, as_bytes(text)}, {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
    }
  }
  return refused;
}

TEST(FuzzTest, Pickles) {
  for (const auto* name : {"state_dict.pth", "nested.pth", "parameters.pth"}) {
    const File file(name);
    const Archive archive(file.bytes);
    const std::string original(as_text(archive.entry("data.pkl")));
    Mutator mutator(5);
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      const auto text = mutator.damage(original);
      try {
        PickleArena arena;
        PickleReader(text, arena).load();
      } catch (const FormatError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 500) << name;
  }
}

TEST(FuzzTest, Packages) {
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
      describe_file({"package", as_bytes(head + middle + tail)});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

class FileFuzzTest : public testing::TestWithParam<const char*> {};

TEST_P(FileFuzzTest, WholeFiles) {
  const File file(GetParam());
  EXPECT_GT(refused_of(file.name, std::string(as_text(file.bytes)), 1500), 100);
}

// Damage where the structure is, not in the weights' bytes.
TEST_P(FileFuzzTest, BothEnds) {
  const File file(GetParam());
  const auto text = as_text(file.bytes);
  Mutator mutator(9);
  const auto end = std::min<std::size_t>(2500, text.size() / 2);
  for (int round = 0; round < 1500; ++round) {
    auto head = std::string(text.substr(0, end));
    auto tail = std::string(text.substr(text.size() - end));
    (round % 2 == 0 ? head : tail) = mutator.damage(round % 2 == 0 ? head : tail);
    const auto damaged = head + std::string(text.substr(end, text.size() - 2 * end)) + tail;
    try {
      sum_of_bytes(read_weights({file.name, as_bytes(damaged)}, {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FileFuzzTest,
                         testing::Values("state_dict.pth", "nested.pth", "legacy.pth",
                                         "weights.safetensors"));

}  // namespace
}  // namespace tally::model
