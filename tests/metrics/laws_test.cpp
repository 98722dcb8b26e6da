// SPDX-License-Identifier: Apache-2.0
// What holds for every metric: the split and the order of merging do not matter, to the bit; an
// empty part is neutral; without usable samples it is undefined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <variant>

#include "answers.hpp"
#include "labels.hpp"
#include "rows.hpp"
#include "tags.hpp"
#include "texts.hpp"
#include "values.hpp"

namespace tally::metrics {
namespace {

constexpr std::int64_t kSamples = 211;
constexpr std::int64_t kClasses = 7;
constexpr std::int64_t kIgnored = 3;
const std::vector<std::string> kTags{"O", "B-A", "I-A", "B-B", "I-B", "E-B", "S-C"};

struct Case {
  std::string task, metric;
};

MetricOptions options_for(const Case& test) {
  const bool is_of_questions = test.task == "question-answering";
  return {.task = test.task,
          .num_classes = is_of_questions         ? 0
                         : test.task == "binary" ? 2
                                                 : kClasses,
          .ignore_index = kIgnored,
          .names = {test.metric},
          .no_answer = is_of_questions,
          .has_margins = is_of_questions,
          .class_names = test.task == "token-classification" ? kTags : std::vector<std::string>{}};
}

// Samples of any task.
class Material {
 public:
  explicit Material(const std::string& task) {
    if (task == "multiclass") samples_ = random_samples(kSamples, kClasses, 5);
    if (task == "binary") samples_ = random_binary(kSamples, kIgnored, 5);
    if (task == "multilabel") samples_ = random_multilabel(kSamples, kClasses, kIgnored, 5);
    if (task == "regression") samples_ = random_values(kSamples, kClasses, 5);
    if (task == "question-answering") samples_ = random_answers(kSamples, 5);
    if (task == "language-model") samples_ = random_documents(kSamples, 5);
    if (task == "multiple-choice") samples_ = random_choices(kSamples, 5);
    if (task == "token-classification") samples_ = random_tags(kTags, kSamples, 5);
  }

  std::int64_t size() const {
    const auto* answers = std::get_if<std::vector<QuestionAnsweringRecord>>(&samples_);
    return answers ? std::ssize(*answers) : kSamples;
  }

  // Leaves none that a metric could be made of: ignored, or where nothing can be, not finite. A
  // question counts as wrong then, so none is left.
  void spoil() {
    if (auto* classes = std::get_if<Samples>(&samples_)) {
      std::ranges::fill(classes->labels, kIgnored);
    } else if (auto* labels = std::get_if<LabelSamples>(&samples_)) {
      std::ranges::fill(labels->labels, kIgnored);
      std::ranges::fill(labels->targets, static_cast<std::uint8_t>(kIgnored));
    } else if (auto* answers = std::get_if<std::vector<QuestionAnsweringRecord>>(&samples_)) {
      answers->clear();
    } else if (auto* documents = std::get_if<std::vector<LanguageModelRecord>>(&samples_)) {
      for (LanguageModelRecord& row : *documents) row = {.index = row.index};
    } else if (auto* choices = std::get_if<std::vector<MultipleChoiceRecord>>(&samples_)) {
      for (MultipleChoiceRecord& row : *choices) row.ignored = true;
    } else if (auto* sequences = std::get_if<TaggedSamples>(&samples_)) {
      for (TokenClassificationRecord& row : sequences->records) row = {.index = row.index};
    } else {
      std::ranges::fill(std::get<Values>(samples_).predictions,
                        std::numeric_limits<float>::infinity());
    }
  }

  // Adds samples [first, first + count).
  void add(const MetricSet& metrics, std::int64_t first, std::int64_t count, exact::State& state) {
    if (auto* classes = std::get_if<Samples>(&samples_)) {
      add_samples(metrics, *classes, first, count, kIgnored, state);
    } else if (auto* labels = std::get_if<LabelSamples>(&samples_)) {
      add_samples(metrics, *labels, first, count, state);
    } else if (auto* answers = std::get_if<std::vector<QuestionAnsweringRecord>>(&samples_)) {
      metrics.update(part_of(*answers, first, count), state);
    } else if (auto* documents = std::get_if<std::vector<LanguageModelRecord>>(&samples_)) {
      metrics.update(part_of(*documents, first, count), state);
    } else if (auto* choices = std::get_if<std::vector<MultipleChoiceRecord>>(&samples_)) {
      metrics.update(part_of(*choices, first, count), state);
    } else if (auto* sequences = std::get_if<TaggedSamples>(&samples_)) {
      metrics.update(part_of(sequences->records, first, count), state);
    } else {
      add_values(metrics, std::get<Values>(samples_), first, count,
                 std::max<std::int64_t>(1, count), state);
    }
  }

 private:
  template <class Row>
  static std::span<const Row> part_of(const std::vector<Row>& rows, std::int64_t first,
                                      std::int64_t count) {
    return std::span<const Row>(rows).subspan(to_size(first), to_size(count));
  }

  std::variant<Samples, LabelSamples, Values, std::vector<QuestionAnsweringRecord>,
               std::vector<LanguageModelRecord>, std::vector<MultipleChoiceRecord>, TaggedSamples>
      samples_;
};

class Laws : public testing::TestWithParam<Case> {
 protected:
  exact::State fresh() const { return exact::State(metrics_.layout()); }

  // Samples [first, first + count), in batches of `batch`.
  exact::State part(std::int64_t first, std::int64_t count, std::int64_t batch) {
    exact::State state = fresh();
    for (std::int64_t done = 0; done < count; done += batch) {
      samples_.add(metrics_, first + done, std::min(batch, count - done), state);
    }
    return state;
  }

  static bool same_bits(const exact::State& a, const exact::State& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

  MetricSet metrics_{options_for(GetParam())};
  Material samples_{GetParam().task};
};

TEST_P(Laws, AnySplitMergedInAnyOrderIsTheSameBits) {
  const exact::State whole = part(0, kSamples, kSamples);
  std::mt19937 random(1);
  for (const std::int64_t parts : {1, 2, 3, 5, 8, 64, 300}) {
    std::vector<exact::State> states;
    for (std::int64_t k = 0; k < parts; ++k) {
      const std::int64_t first = kSamples * k / parts;
      states.push_back(part(first, kSamples * (k + 1) / parts - first, 1 + k % 9));
    }
    std::shuffle(states.begin(), states.end(), random);
    exact::State merged = fresh();
    for (const exact::State& state : states) merged.merge(state);
    EXPECT_TRUE(same_bits(merged, whole)) << parts << " parts";
  }
}

TEST_P(Laws, AnEmptyPartIsNeutral) {
  exact::State state = part(0, 50, 8);
  const exact::State before = state;

  state.merge(part(50, 0, 8));
  samples_.add(metrics_, 50, 0, state);

  EXPECT_TRUE(same_bits(state, before));
}

TEST_P(Laws, WithoutUsableSamplesItIsUndefined) {
  samples_.spoil();
  for (const std::int64_t count : {std::int64_t{0}, samples_.size()}) {
    const Results results = metrics_.finalize(part(0, count, 16));

    EXPECT_EQ(results.units.count, count);
    EXPECT_EQ(results.counts.ignored + results.counts.without_scores, count);
    EXPECT_EQ(results.counts.finite(), 0);
    for (const MetricValue& metric : results.metrics) {
      EXPECT_EQ(metric.value, std::nullopt) << metric.name;
    }
    for (const ClassMetrics& values : results.per_class) {
      EXPECT_EQ(values.support + values.predicted + values.correct, 0);
      for (const MetricValue& metric : values.values) {
        EXPECT_EQ(metric.value, std::nullopt) << metric.name;
      }
    }
    for (const std::int64_t cell : results.confusion) EXPECT_EQ(cell, 0);
  }
}

TEST_P(Laws, AskedForAloneItIsAloneAndTheSame) {
  const Results alone = metrics_.finalize(part(0, kSamples, 10));
  const auto& [task, metric] = GetParam();
  MetricOptions with_all = options_for(GetParam());
  with_all.names.emplace_back("all");
  const MetricSet all(with_all);
  exact::State state(all.layout());
  samples_.add(all, 0, kSamples, state);
  const Results results = all.finalize(state);

  const bool has_tokens = task == "language-model" || task == "multiple-choice";
  ASSERT_EQ(std::ssize(alone.per_class), has_tokens ? 0 : with_all.num_classes);
  if (description_of(task, metric).value().needs_order) {
    EXPECT_THAT(alone.metrics, testing::IsEmpty()) << "it is computed elsewhere";
    return;
  }
  if (metric.starts_with("confusion_")) {
    EXPECT_THAT(alone.metrics, testing::IsEmpty());
    EXPECT_EQ(alone.confusion, results.confusion);
    return;
  }
  ASSERT_EQ(alone.metrics.size(), 1u);
  EXPECT_EQ(alone.metrics[0].name, metric);
  const MetricValue* same = results.find(metric);
  ASSERT_NE(same, nullptr);
  EXPECT_TRUE(alone.metrics[0].value.has_value());
  EXPECT_EQ(alone.metrics[0].value, same->value);
  EXPECT_THAT(alone.confusion, testing::IsEmpty());
  for (std::size_t c = 0; c < alone.per_class.size(); ++c) {
    const auto& values = alone.per_class[c].values;
    EXPECT_TRUE(task != "regression" || values.size() == 1) << values.size();
    for (const MetricValue& of_class : values) {
      EXPECT_EQ(of_class.value, results.per_class[c].value(of_class.name)) << of_class.name;
    }
  }
}

// Of every task; of a form one that has a number.
std::vector<Case> every_metric() {
  std::vector<Case> cases;
  for (const char* task :
       {"binary", "language-model", "multiclass", "multilabel", "multiple-choice",
        "question-answering", "regression", "token-classification"}) {
    for (const MetricDescription& metric : known_metrics(task)) {
      std::string name(metric.name);
      const auto open = name.find('<');
      if (open != std::string::npos) {
        const bool whole = name.find("<k>") != std::string::npos;
        name.replace(open, name.find('>') - open + 1, whole ? "3" : "0.5");
      }
      cases.push_back({task, name});
    }
  }
  return cases;
}

std::string test_name(const testing::TestParamInfo<Case>& test) {
  std::string name = test.param.task + "_" + test.param.metric;
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryMetric, Laws, testing::ValuesIn(every_metric()), test_name);

}  // namespace
}  // namespace tally::metrics
