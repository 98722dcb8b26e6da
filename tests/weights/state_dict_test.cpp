// SPDX-License-Identifier: Apache-2.0
// Where the weights lie in what a trainer saved.
#include "torch_save/state_dict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include <tally/weights/byte_source.hpp>

#include "pickle/pickle_value.hpp"

namespace tally::weights {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Entries = std::vector<std::pair<std::string, PickleValue*>>;

// What was pickled.
class StateDictTest : public testing::Test {
 protected:
  StateDictTest() {
    storage_.key = "0";
    storage_.type = ElementType::f32;
    storage_.num_elements = 6;
    indices_.type = ElementType::i64;
    indices_.num_elements = 6;
  }

  PickleValue* number() { return &arena_.constant(PickleKind::integer, 7); }
  PickleValue* text(const std::string& content) {
    auto& value = arena_.make(PickleKind::text);
    value.text = arena_.store(content);
    return &value;
  }
  PickleValue* tensor(std::vector<std::int64_t> shape = {2, 3}) {
    return tensor_of(storage_, std::move(shape));
  }
  PickleValue* whole_numbers() { return tensor_of(indices_, {2, 3}); }
  PickleValue* dict(const Entries& entries) {
    auto& value = arena_.make(PickleKind::dict);
    for (const auto& [key, entry] : entries) {
      value.items.push_back(text(key));
      value.items.push_back(entry);
    }
    return &value;
  }
  PickleValue* weights() { return dict({{"w", tensor()}}); }
  // Dicts in each other under the name `model`.
  PickleValue* nested(int depth, PickleValue* innermost) {
    return depth == 0 ? innermost : dict({{"model", nested(depth - 1, innermost)}});
  }

 private:
  PickleValue* tensor_of(const StorageRecord& storage, std::vector<std::int64_t> shape) {
    const std::vector<std::int64_t> strides(shape.size(), 1);
    auto& record = arena_.make_tensor(std::move(shape), strides);
    record.storage = &storage;
    auto& value = arena_.make(PickleKind::tensor);
    value.tensor = &record;
    return &value;
  }

  PickleArena arena_;
  StorageRecord storage_, indices_;
};

std::string found_in(const PickleValue* root, std::string_view key = {}) {
  return find_state_dict(*root, key).path;
}

std::string refusal(const PickleValue* root, std::string_view key = {}) {
  try {
    return "found at " + found_in(root, key);
  } catch (const FormatError& error) {
    return error.what();
  }
}

TEST_F(StateDictTest, UsualNamesAreTriedInTheirOrder) {
  Entries entries{{"epoch", number()}};
  for (const auto* name :
       {"weights", "net", "module", "app", "state_dict", "model", "model_state_dict"}) {
    entries.emplace_back(name, weights());
    EXPECT_EQ(found_in(dict(entries)), name);
  }
  EXPECT_EQ(found_in(dict({{"w", tensor()}, {"net", number()}})), "");
  EXPECT_EQ(found_in(dict({{"w", tensor()}, {"net", weights()}})), "net");
}

TEST_F(StateDictTest, PartsOfANetworkHaveSuchNamesBelowTheTop) {
  for (const auto* name : {"module", "net", "weights"}) {
    EXPECT_EQ(found_in(dict({{"model", dict({{"w", tensor()}, {name, weights()}})}})), "model");
  }
  EXPECT_EQ(found_in(dict({{"app", dict({{"state_dict", weights()}})}})), "app.state_dict");
}

TEST_F(StateDictTest, LiesUpToFourDictsDeep) {
  EXPECT_EQ(found_in(nested(4, weights())), "model.model.model.model");
  EXPECT_THAT(refusal(nested(5, weights())), HasSubstr("no state_dict was found in it"));
  // What is too deep on one path is not so on another.
  auto* inner = nested(1, weights());
  EXPECT_EQ(found_in(dict({{"model_state_dict", nested(3, inner)}, {"model", inner}})),
            "model.model");
}

TEST_F(StateDictTest, AveragesBesideItAreNamed) {
  for (const auto* name : {"ema", "model_ema", "state_dict_ema", "module_ema", "EMA_0.999"}) {
    const auto found = search_state_dict(*dict({{"model", weights()}, {name, weights()}}));
    EXPECT_EQ(found.path, "model");
    EXPECT_THAT(found.averaged, ElementsAre(name));
  }
  for (const auto* name : {"schema", "cinema_x", "emails", "ema2", "2ema", ""}) {
    const auto found = search_state_dict(*dict({{"model", weights()}, {name, weights()}}));
    EXPECT_THAT(found.averaged, IsEmpty()) << name;
  }
  const auto inside =
      search_state_dict(*dict({{"app", dict({{"ema", weights()}, {"model", weights()}})}}));
  EXPECT_EQ(inside.path, "app.model");
  EXPECT_THAT(inside.averaged, ElementsAre("app.ema"));
  const auto beside = search_state_dict(*dict({{"w", tensor()}, {"ema", nested(1, weights())}}));
  EXPECT_EQ(beside.path, "");
  EXPECT_THAT(beside.averaged, ElementsAre("ema.model"));
}

TEST_F(StateDictTest, AveragesAreTakenWhereThereAreNoOtherWeights) {
  EXPECT_EQ(found_in(dict({{"epoch", number()}, {"model_ema", weights()}})), "model_ema");
  // These are no weights: a step, whole numbers, an average.
  EXPECT_EQ(found_in(dict({{"ema", weights()}, {"step", tensor({})}})), "ema");
  EXPECT_EQ(found_in(dict({{"ema", weights()}, {"random", whole_numbers()}})), "ema");
  EXPECT_EQ(found_in(dict({{"ema", weights()}, {"other", dict({{"step", tensor({})}})}})), "ema");
  EXPECT_EQ(found_in(dict({{"ema", weights()}, {"w", tensor()}})), "");
  for (const auto* other : {"generator", "ema_2"}) {
    EXPECT_THAT(refusal(dict({{"ema", weights()}, {other, weights()}})),
                HasSubstr("no state_dict was found in it; it holds 'ema' (a dict), '"));
  }
}

TEST_F(StateDictTest, AKeyIsAPathOfKeysThatMayHaveDots) {
  auto* root = dict({{"a", dict({{"b.c", weights()}, {"d", dict({{"e", weights()}})}})},
                     {"a.b", dict({{"x", weights()}})},
                     {"n", number()},
                     {"empty", dict({})},
                     {"p.w", tensor()}});
  for (const auto* key : {"a.b.c", "a.d.e", "a.b.x"}) EXPECT_EQ(found_in(root, key), key);
  EXPECT_THAT(refusal(root, "a.b.y"), StartsWith("it has no entry 'a.b.y' (--weights-key); it "));
  EXPECT_THAT(refusal(root, "p"),
              StartsWith("it has no entry 'p' (--weights-key); --weights-prefix p. would take"));
  EXPECT_THAT(refusal(root, "n"), HasSubstr("'n' (--weights-key) is a number, not a dict"));
  EXPECT_THAT(refusal(root, "a"), HasSubstr("holds no tensors, but 'b.c' (a dict), 'd' (a dict)"));
  EXPECT_THAT(refusal(root, "empty"), HasSubstr("holds no tensors, but nothing"));
  EXPECT_EQ(refusal(number(), "a"), "it has no entry 'a' (--weights-key); it holds a number");
}

TEST_F(StateDictTest, SaysWhatThereIsInstead) {
  EXPECT_EQ(refusal(number()), "it holds a number, not a dict of tensors");
  EXPECT_THAT(refusal(dict({})), HasSubstr("it holds an empty dict; name the entry with"));
  Entries entries;
  for (int i = 0; i < 10; ++i) entries.emplace_back("n" + std::to_string(i), number());
  EXPECT_THAT(refusal(dict(entries)), HasSubstr("'n9' (a number); name the entry with"));
  entries.emplace_back("n10", number());
  EXPECT_THAT(refusal(dict(entries)), HasSubstr("'n9' (a number), …; name the entry with"));
}

TEST_F(StateDictTest, TensorsAreReadAndOthersListed) {
  const auto six = [](const StorageRecord&) { return StoragePlace{100, 24, {}}; };
  auto* root = dict({{"w", tensor({1})}, {"n", number()}, {"w", tensor({6})}});
  const auto read = read_state_dict(*root, {}, six);
  ASSERT_EQ(read.tensors.size(), 1U);
  EXPECT_THAT(read.tensors.at("w").shape, ElementsAre(6)) << "of the later one";
  EXPECT_EQ(read.tensors.at("w").parts.at(0).offset, 100U);
  EXPECT_THAT(read.skipped, ElementsAre("'n' (a number)"));
  const auto five = [](const StorageRecord&) { return StoragePlace{100, 23, {}}; };
  try {
    (void)read_state_dict(*root, {}, five);
    FAIL() << "a storage that is too small was read";
  } catch (const FormatError& error) {
    EXPECT_EQ(std::string(error.what()),
              "tensor 'w': storage '0' has 23 bytes, expected 6 elements of float32");
  }
}

}  // namespace
}  // namespace tally::weights
