// SPDX-License-Identifier: Apache-2.0
// What `tally check` prints.
#include <tally/publish/plan_text.hpp>

#include <gmock/gmock.h>

#include "object_file.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "token_file.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;

class PlanTextTest : public SessionFixture {
 protected:
  PlanTextTest() { config_.files.model = "net.pt"; }

  // What stands behind this name, which all lines have in one column; "no line" where there is
  // none.
  static std::string line_of(const EvaluationSession& session, int world_size,
                             const std::string& name) {
    const auto begin = "\n  " + name + std::string(15 - name.size(), ' ');
    const auto text = plan_text(session, world_size);
    const auto at = text.find(begin);
    if (at == std::string::npos) return "no line";
    return text.substr(at + begin.size(), text.find('\n', at + 1) - at - begin.size());
  }
};

// Ten samples in three batches: two ranks have two and one, of which the longer computes eight.
TEST_F(PlanTextTest, TellsWhoEvaluatesWhat) {
  auto session = open(data::SampleFile{}, {.metrics = {.names = {"accuracy"}}});
  session.scoring.subgroups = {{0, {0, 1, 2, 3}}};
  EXPECT_THAT(plan_text(session, 2),
              testing::StartsWith("Plan (nothing was evaluated or written)\n  model          "
                                  "net.pt (1000 B)\n"));
  EXPECT_EQ(line_of(session, 2, "task"), "multiclass, 5 classes");
  EXPECT_EQ(line_of(session, 2, "metrics"), "accuracy");
  EXPECT_EQ(line_of(session, 2, "groups"), "camera: 4 values");
  EXPECT_EQ(line_of(session, 2, "samples"), "10 of 10");
  EXPECT_EQ(line_of(session, 2, "batches"), "3 of 4 samples");
  EXPECT_EQ(line_of(session, 2, "ranks"), "2, 1 to 2 batches each, balance 0.625");
  EXPECT_EQ(line_of(session, 1, "ranks"), "1, 3 batches each, balance 0.833");
  EXPECT_EQ(line_of(session, 3, "ranks"), "3, 1 batch each, balance 0.833");
  EXPECT_EQ(line_of(session, 5, "ranks"), "5, 0 to 1 batches each, balance 0.500");
  EXPECT_EQ(line_of(session, 2, "device"), "cpu (a processor), 1 thread per rank");
  EXPECT_EQ(line_of(session, 2, "predictions"), "none: 0 B in all");
  EXPECT_THAT(line_of(session, 2, "reduction"), testing::StartsWith("mpi, state "));
  for (const auto* const name : {"weights", "order", "kept", "trace"}) {
    EXPECT_EQ(line_of(session, 2, name), "no line") << name;
  }
}

TEST_F(PlanTextTest, FollowsTheSettings) {
  config_.scoring.limit = 1;
  config_.execution.threads = 6;
  config_.execution.precision = "bf16";
  config_.execution.check_reduction = true;
  config_.reading.stage = "/scratch";
  config_.results.trace = "trace.json";
  auto session = open(data::SampleFile{});
  session.plan.read_threads = 3;
  session.plan.grid.emplace(10, 1, 4);
  session.model.weights.emplace().path = "epoch-7.pt";
  EXPECT_EQ(line_of(session, 1, "weights"), "epoch-7.pt");
  EXPECT_EQ(line_of(session, 1, "batches"), "10 of 1 sample");
  EXPECT_EQ(line_of(session, 1, "order"), "by length in blocks of 4 batches");
  EXPECT_THAT(line_of(session, 1, "device"), HasSubstr("6 threads per rank"));
  EXPECT_EQ(line_of(session, 1, "precision"), "bf16");
  EXPECT_EQ(line_of(session, 1, "reading"), "3 threads per rank, from a copy in /scratch");
  EXPECT_THAT(line_of(session, 1, "reduction"), testing::StartsWith("mpi, checked, state "));
  EXPECT_EQ(line_of(session, 1, "trace"), "trace.json");
}

// The folder that is named after the time will have another name when the run comes.
TEST_F(PlanTextTest, NamesTheOutputAsFarAsItIsKnown) {
  auto session = open(data::SampleFile{});
  session.output.folder = "tally-1";
  EXPECT_EQ(line_of(session, 1, "output"), "a folder of its own, such as tally-1");
  config_.files.output = "result";
  auto named = open(data::SampleFile{});
  named.output.folder = "result";
  EXPECT_EQ(line_of(named, 1, "output"), "result");
}

TEST_F(PlanTextTest, SizesAreForPeople) {
  auto session = open(data::SampleFile{});
  const auto size_of = [&](std::int64_t bytes) {
    session.model.model.bytes = bytes;
    return line_of(session, 1, "model");
  };
  EXPECT_EQ(size_of(0), "net.pt (0 B)");
  EXPECT_EQ(size_of(1023), "net.pt (1023 B)");
  EXPECT_EQ(size_of(1024), "net.pt (1.0 KiB)");
  EXPECT_EQ(size_of(1536), "net.pt (1.5 KiB)");
  EXPECT_EQ(size_of(std::int64_t{3} << 30), "net.pt (3.0 GiB)");
  EXPECT_EQ(size_of(std::int64_t{5000} << 40), "net.pt (5000.0 TiB)") << "there is no larger unit";
}

TEST_F(PlanTextTest, NamesUnitsAndRowsOfAnyLength) {
  const auto documents = open(data::document_file());
  EXPECT_EQ(line_of(documents, 1, "task"), "language-model, 3 documents");
  EXPECT_THAT(line_of(documents, 1, "kept"), HasSubstr(" per rank until the end"));
  EXPECT_EQ(line_of(open(data::ObjectFile{}), 1, "task"), "detection, 3 classes");
}

}  // namespace
}  // namespace tally::app
