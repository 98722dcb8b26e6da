// SPDX-License-Identifier: Apache-2.0
// --tune: which way is chosen, on any number of ranks, by times that are made up.
#include "tune.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>

#include "comm_fixture.hpp"

namespace tally::app {
namespace {

using model::CpuExecutionSettings;
using model::CpuKernels;
using testing::ElementsAre;
using testing::IsEmpty;

// A network of 16 samples a batch. It runs in the way that it was given.
class PlayedPredictor final : public model::Predictor {
 public:
  model::Outputs predict(std::span<const TensorView>) override { return {}; }
  const std::optional<model::ModelCard>& card() const override { return card_; }
  void use(const CpuExecutionSettings& way) override { used = way; }
  std::string form() const override {
    const auto changed = forms.find(used.kernels);
    const auto name = changed == forms.end() ? kNames.at(used.kernels) : changed->second;
    return name + " " + std::to_string(size());
  }
  std::vector<CpuKernels> other_kernels() const override {
    return {CpuKernels::onednn_graph, CpuKernels::own, CpuKernels::torch};
  }
  std::vector<std::int64_t> other_sizes() const override {
    if (!has_sizes) return {};
    std::vector<std::int64_t> sizes;
    if (size() > 1) sizes.push_back(size() / 2);
    if (size() < 16) sizes.push_back(size() * 2);
    return sizes;
  }
  std::int64_t size() const { return used.at_a_time == 0 ? 4 : used.at_a_time; }

  CpuExecutionSettings used;
  bool has_sizes = false;
  std::map<CpuKernels, std::string> forms;  // that differ from kNames

 private:
  inline static const std::map<CpuKernels, std::string> kNames{{CpuKernels::automatic, "both"},
                                                               {CpuKernels::onednn_graph, "graph"},
                                                               {CpuKernels::own, "own"},
                                                               {CpuKernels::torch, "torch"}};
  std::optional<model::ModelCard> card_;
};

class TuneTest : public comm::CommTest {
 protected:
  // The form that is chosen.
  std::string choose() {
    timed.clear();
    const TuningSteps steps{[this] {
                              if (fails_to_settle == predictor.used.kernels) throw broken();
                            },
                            [this] {
                              if (fails_to_run == predictor.used.kernels) throw broken();
                              timed.push_back(predictor.form());
                              return milliseconds.at(timed.back()) / 1e3;
                            }};
    tuning = fastest_way(world(), predictor, steps, {});
    return tuning.tried.empty() ? "" : chosen().form;
  }
  const TriedWay& chosen() { return tuning.tried.at(tuning.chosen); }
  std::vector<std::string> tried() {
    std::vector<std::string> forms;
    for (const auto& way : tuning.tried) forms.push_back(way.form);
    return forms;
  }

  static Error broken() { return {ErrorKind::model, "it does not compile"}; }
  bool is_last() { return rank() == size() - 1; }

  PlayedPredictor predictor;
  std::map<std::string, double> milliseconds{
      {"both 4", 10}, {"graph 4", 10}, {"own 4", 10}, {"torch 4", 10}};
  std::optional<CpuKernels> fails_to_settle;
  std::optional<CpuKernels> fails_to_run;
  std::vector<std::string> timed;
  Tuning tuning;
};

TEST_F(TuneTest, TheFastestIsChosen) {
  milliseconds["own 4"] = 8;
  milliseconds["torch 4"] = 9;
  EXPECT_EQ(choose(), "own 4");
  EXPECT_EQ(chosen().way, (CpuExecutionSettings{CpuKernels::own, 0}));
  EXPECT_EQ(chosen().slowest_ns, 8'000'000);
  EXPECT_THAT(tried(), ElementsAre("both 4", "graph 4", "own 4", "torch 4"));
}

TEST_F(TuneTest, WhatIsHardlyFasterIsNot) {
  EXPECT_EQ(choose(), "both 4");
  milliseconds["own 4"] = 9.71;
  EXPECT_EQ(choose(), "both 4");
  EXPECT_EQ(chosen().way, CpuExecutionSettings());
  milliseconds["own 4"] = 9.69;
  EXPECT_EQ(choose(), "own 4");
}

// The others would wait for it.
TEST_F(TuneTest, AFormFromWhichARankGoesOnOtherwiseIsLeftOut) {
  predictor.has_sizes = !is_last();
  EXPECT_EQ(choose(), size() == 1 ? "both 4" : "");
}

// Each rank finds another way fastest, and none the one that serves all.
TEST_F(TuneTest, TheSlowestRankCounts) {
  milliseconds["own 4"] = is_last() ? 12 : 1;
  milliseconds["graph 4"] = rank() == 0 ? 11 : 2;
  milliseconds["torch 4"] = 9;
  EXPECT_EQ(choose(), "torch 4");
  EXPECT_EQ(chosen().slowest_ns, 9'000'000);
  const auto own = std::ranges::find(tuning.tried, "own 4", &TriedWay::form);
  ASSERT_NE(own, tuning.tried.end());
  EXPECT_EQ(own->slowest_ns, 12'000'000);
}

TEST_F(TuneTest, AllRanksTakeOneWay) {
  predictor.has_sizes = true;
  int step = 0;
  for (const auto* form : {"both", "graph", "own", "torch"}) {
    for (const auto size : {1, 2, 4, 8, 16}) {
      const auto noise = (rank() + 1) * 37 + 11 * ++step;
      milliseconds[form + (" " + std::to_string(size))] = 10 + static_cast<double>(noise % 17);
    }
  }
  auto all = "of " + choose();
  for (const auto& form : tried()) all += ", " + form;
  EXPECT_EQ(world().broadcast(all), all);
}

TEST_F(TuneTest, WhatOneRankCannotRunIsLeftOut) {
  milliseconds["own 4"] = 1;
  milliseconds["graph 4"] = 2;
  if (is_last()) fails_to_settle = CpuKernels::own;
  if (rank() == 0) fails_to_run = CpuKernels::onednn_graph;
  EXPECT_EQ(choose(), "both 4");
  EXPECT_THAT(tried(), ElementsAre("both 4", "torch 4"));
}

TEST_F(TuneTest, WhatRanksRunInDifferentFormsIsLeftOut) {
  if (size() == 1) GTEST_SKIP();
  milliseconds["own 4"] = 1;
  milliseconds["narrower 4"] = 1;
  if (is_last()) predictor.forms[CpuKernels::own] = "narrower";
  EXPECT_EQ(choose(), "both 4");
  EXPECT_THAT(tried(), ElementsAre("both 4", "graph 4", "torch 4"));
}

TEST_F(TuneTest, TheSameFormIsTimedOnce) {
  predictor.forms[CpuKernels::own] = "both";
  predictor.forms[CpuKernels::torch] = "graph";
  choose();
  EXPECT_THAT(timed, ElementsAre("both 4", "graph 4"));
}

TEST_F(TuneTest, SizesAreTriedForTheBestKernelsForAsLongAsTheyPay) {
  predictor.has_sizes = true;
  for (const auto* form : {"own 4", "own 2"}) milliseconds[form] = 8;
  milliseconds["own 8"] = 7;
  milliseconds["own 16"] = 6.9;
  EXPECT_EQ(choose(), "own 8");
  EXPECT_EQ(chosen().way, (CpuExecutionSettings{CpuKernels::own, 8}));
  EXPECT_THAT(timed,
              ElementsAre("both 4", "graph 4", "own 4", "torch 4", "own 2", "own 8", "own 16"));
}

TEST_F(TuneTest, NothingIsChosenWhereTheUsualWayFails) {
  if (is_last()) fails_to_run = CpuKernels::automatic;
  choose();
  EXPECT_THAT(tried(), IsEmpty());
}

}  // namespace
}  // namespace tally::app
