// SPDX-License-Identifier: Apache-2.0
// Each mistake has its symptom, and good models on all kinds of data sets have none.
#include <tally/diagnosis/symptoms.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include <tally/base/checked_cast.hpp>

namespace tally::diagnosis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Matrix = std::vector<std::vector<std::int64_t>>;  // [true class][prediction]

metrics::Results results_of(const Matrix& matrix) {
  metrics::Results results;
  results.num_classes = std::ssize(matrix);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    metrics::ClassMetrics made{.index = checked_cast<std::int64_t>(row), .values = {}};
    for (std::size_t column = 0; column < matrix.size(); ++column) {
      results.confusion.push_back(matrix[row][column]);
      made.support += matrix[row][column];
      made.predicted += matrix[column][row];
    }
    made.correct = matrix[row][row];
    results.counts.scored += made.support;
    results.per_class.push_back(made);
  }
  return results;
}

std::vector<Symptom> symptoms_of(const Matrix& matrix) {
  const auto results = results_of(matrix);
  return find_symptoms({.task = "multiclass",
                        .results = results,
                        .first_batch = {},
                        .images = {},
                        .normalisation = {},
                        .stored_channels = {}});
}

std::vector<std::string> codes(const std::vector<Symptom>& symptoms) {
  std::vector<std::string> found;
  for (const auto& one : symptoms) found.push_back(one.code);
  return found;
}

// Samples of class i that are predicted as class to[i], but for `wrong` that are spread.
Matrix matrix_of(const std::vector<std::size_t>& to, std::int64_t support, std::int64_t wrong) {
  Matrix matrix(to.size(), std::vector<std::int64_t>(to.size(), 0));
  for (std::size_t row = 0; row < to.size(); ++row) {
    matrix[row][to[row]] = support - wrong;
    for (std::int64_t i = 0; i < wrong; ++i) {
      ++matrix[row][(to[row] + 1 + to_size(i) % (to.size() - 1)) % to.size()];
    }
  }
  return matrix;
}

TEST(Symptoms, LabelsThatAreShifted) {
  const auto found = symptoms_of(matrix_of({4, 0, 1, 2, 3}, 40, 2));
  ASSERT_THAT(codes(found), ElementsAre("labels_shifted"));
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("shifted by -1"), HasSubstr("would be 95 %")));
  // Nobody is predicted as the class behind the last one: class 4 goes anywhere.
  EXPECT_THAT(codes(symptoms_of(matrix_of({1, 2, 3, 4, 0}, 40, 2))), ElementsAre("labels_shifted"));
}

TEST(Symptoms, ClassesInAnotherOrder) {
  const auto found = symptoms_of(matrix_of({2, 1, 0, 3, 5, 4}, 40, 3));
  ASSERT_THAT(codes(found), ElementsAre("classes_permuted"));
  EXPECT_THAT(found[0].text, HasSubstr("0 is 2, 2 is 0, 4 is 5, 5 is 4"));
}

TEST(Symptoms, AFewSamplesExplainNothing) {
  EXPECT_THAT(symptoms_of(matrix_of({1, 0}, 9, 0)), IsEmpty());
}

TEST(Symptoms, AccuracyBelowChance) {
  // No renumbering explains it: wrong predictions are spread.
  Matrix matrix(4, std::vector<std::int64_t>(4, 33));
  for (std::size_t i = 0; i < 4; ++i) matrix[i][i] = 1;
  EXPECT_THAT(codes(symptoms_of(matrix)), ElementsAre("below_chance"));
}

TEST(Symptoms, AccuracyThatIsThatOfChance) {
  const Matrix uniform(4, std::vector<std::int64_t>(4, 200));
  const auto found = symptoms_of(uniform);
  ASSERT_THAT(codes(found), ElementsAre("chance"));
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("25 %"), HasSubstr("are the weights trained")));
  EXPECT_THAT(symptoms_of(Matrix(4, std::vector<std::int64_t>(4, 10))), IsEmpty())
      << "the interval is too wide to say so";
  // As often right as by always saying class 0, but it knows half of class 1.
  EXPECT_THAT(symptoms_of({{940, 10}, {25, 25}}), IsEmpty());
  EXPECT_THAT(codes(symptoms_of({{920, 30}, {25, 25}})), IsEmpty());
  EXPECT_THAT(codes(symptoms_of({{700, 0}, {300, 0}})),
              ElementsAre("chance", "one_class_predicted"));
}

TEST(Symptoms, OneClassForAll) {
  const auto found = symptoms_of({{0, 40, 0}, {0, 40, 0}, {0, 39, 1}});
  EXPECT_THAT(codes(found), testing::Contains("one_class_predicted"));
  EXPECT_THAT(found.back().text, HasSubstr("class 1 for 99.17 % of the samples, of which 33.33 %"));
  EXPECT_THAT(symptoms_of({{950, 10}, {10, 30}}), IsEmpty()) << "most samples are of that class";
}

metrics::Results labels(std::int64_t samples, const std::vector<std::int64_t>& support,
                        bool all_predicted) {
  metrics::Results results;
  results.counts.scored = samples;
  for (const auto count : support) {
    results.per_class.push_back({.index = std::ssize(results.per_class),
                                 .support = count,
                                 .predicted = all_predicted ? samples : count,
                                 .correct = count,
                                 .values = {}});
  }
  return results;
}

TEST(Symptoms, EveryLabelForAllSamples) {
  const auto codes_of = [](const metrics::Results& results) {
    return codes(find_symptoms({.task = "multilabel",
                                .results = results,
                                .first_batch = {},
                                .images = {},
                                .normalisation = {},
                                .stored_channels = {}}));
  };
  EXPECT_THAT(codes_of(labels(100, {30, 50}, true)), ElementsAre("all_labels_predicted"));
  EXPECT_THAT(codes_of(labels(100, {30, 50}, false)), IsEmpty()) << "recall 1 of a perfect model";
  EXPECT_THAT(codes_of(labels(100, {30, 0}, true)), IsEmpty());
}

class FirstBatchSymptoms : public testing::Test {
 protected:
  std::vector<std::string> found(std::string_view task = "multiclass") {
    evidence_.task = task;
    return codes(find_symptoms(evidence_));
  }

  metrics::Results none_;
  Evidence evidence_{.task = "",
                     .results = none_,
                     .first_batch = FirstBatch{},
                     .images = {},
                     .normalisation = {},
                     .stored_channels = {}};
};

TEST_F(FirstBatchSymptoms, ProbabilitiesThatAreTakenAsLogits) {
  auto& scores = evidence_.first_batch->scores.emplace(ScoreStatistics{8, 10, true, true, false});
  EXPECT_THAT(found(), ElementsAre("probabilities_as_logits"));
  evidence_.outputs = metrics::OutputKind::probabilities;
  EXPECT_THAT(found(), IsEmpty());
  evidence_.outputs = metrics::OutputKind::logits;
  EXPECT_THAT(found("regression"), IsEmpty());
  scores.add_up_to_1 = false;
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_THAT(found("multilabel"), ElementsAre("probabilities_as_logits"));
  scores.num_samples = 3;
  EXPECT_THAT(found("multilabel"), IsEmpty()) << "too few";
}

TEST_F(FirstBatchSymptoms, ScoresThatAreTheSameForAllSamples) {
  evidence_.first_batch->scores = ScoreStatistics{8, 10, false, false, true};
  EXPECT_THAT(found(), ElementsAre("constant_outputs"));
  EXPECT_THAT(found("regression"), ElementsAre("constant_outputs"));
  evidence_.first_batch->inputs_are_the_same = true;
  EXPECT_THAT(found(), IsEmpty());
}

ImageNumbers imagenet() { return {"RGB", 1.0 / 255, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}; }

TEST_F(FirstBatchSymptoms, PixelsOfAnotherScale) {
  evidence_.images = ImageStatistics{{4.9}, {6.0}, {0.1}, 0, 16};
  evidence_.normalisation = ImageNumbers{"L", 1.0 / 16, {0}, {1}};
  evidence_.stored_channels = "L";
  EXPECT_THAT(found(), IsEmpty());
  evidence_.normalisation->scale = 1.0 / 255;
  EXPECT_THAT(found(), ElementsAre("pixels_of_other_scale"));
  evidence_.normalisation->scale = 1;
  EXPECT_THAT(found(), ElementsAre("pixels_not_normalised"));
  evidence_.is_of_card = true;
  EXPECT_THAT(found(), IsEmpty()) << "the model's card says that it is given bytes";
}

TEST_F(FirstBatchSymptoms, NormalisationsThatFitNoPixels) {
  evidence_.images = ImageStatistics{{124, 116, 104}, {58, 57, 58}, {2, 2, 2}, 0, 255};
  evidence_.stored_channels = "RGB";
  evidence_.normalisation = imagenet();
  EXPECT_THAT(found(), IsEmpty());
  evidence_.normalisation->scale = 1;
  EXPECT_THAT(found(), ElementsAre("normalisation_misfit")) << "mean and std are of 0 to 1";
  evidence_.normalisation = ImageNumbers{"RGB", 1.0 / 255, {123, 117, 104}, {1, 1, 1}};
  EXPECT_THAT(found(), ElementsAre("normalisation_misfit")) << "the mean is of 0 to 255";
  evidence_.normalisation->scale = 1;
  EXPECT_THAT(found(), IsEmpty()) << "as Caffe's networks are trained";
}

TEST_F(FirstBatchSymptoms, ChannelsInTheOtherOrder) {
  evidence_.normalisation = imagenet();
  evidence_.stored_channels = "RGB";
  evidence_.images = ImageStatistics{{104, 116, 124}, {58, 57, 58}, {2, 2, 2}, 0, 255};
  EXPECT_THAT(found(), ElementsAre("channels_reversed"));
  evidence_.stored_channels = "BGR";
  EXPECT_THAT(found(), IsEmpty()) << "they are put into order";
  evidence_.stored_channels = "RGB";
  evidence_.images = ImageStatistics{{90, 116, 150}, {58, 57, 58}, {2, 2, 2}, 0, 255};
  EXPECT_THAT(found(), IsEmpty()) << "a blue set fits neither order";
  evidence_.images = ImageStatistics{{104, 116, 124}, {58, 57, 58}, {9, 9, 9}, 0, 255};
  EXPECT_THAT(found(), IsEmpty()) << "few images fit both";
}

TEST_F(FirstBatchSymptoms, FloatsThatNobodyNormalised) {
  evidence_.first_batch->images = FloatImages{0, 16, true};
  EXPECT_THAT(found(), ElementsAre("pixels_not_normalised"));
  evidence_.first_batch->images = FloatImages{0, 1, false};
  EXPECT_THAT(found(), IsEmpty()) << "nothing says what they should be";
  evidence_.normalisation = imagenet();
  evidence_.is_of_card = true;
  EXPECT_THAT(found(), ElementsAre("pixels_not_normalised"));
  evidence_.first_batch->images = FloatImages{-2.1, 2.6, false};
  EXPECT_THAT(found(), IsEmpty());
}

// Few and many classes, balanced and not, few and many samples; each class is known better than
// the others are mistaken for it.
TEST(Symptoms, GoodModelsHaveNone) {
  std::mt19937 random(28);
  const auto draw = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (int set = 0; set < 200; ++set) {
    const auto classes = to_size(std::uniform_int_distribution<std::int64_t>(2, 30)(random));
    const double skew = draw(0, 2);
    const double samples = std::exp(draw(std::log(20.0), std::log(20'000.0)));
    Matrix matrix(classes, std::vector<std::int64_t>(classes, 0));
    double weights = 0;
    for (std::size_t c = 0; c < classes; ++c) weights += std::pow(c + 1, -skew);
    for (std::size_t c = 0; c < classes; ++c) {
      const auto support = std::llround(samples * std::pow(c + 1, -skew) / weights);
      const double recall = draw(0.6, 1);
      for (std::int64_t i = 0; i < support; ++i) {
        const bool is_right = draw(0, 1) < recall;
        ++matrix[c][is_right ? c
                             : to_size(std::uniform_int_distribution<std::int64_t>(
                                   0, std::ssize(matrix) - 1)(random))];
      }
    }
    EXPECT_THAT(codes(symptoms_of(matrix)), IsEmpty()) << "set " << set;
  }
}

}  // namespace
}  // namespace tally::diagnosis
