// SPDX-License-Identifier: Apache-2.0
// metrics.h5, read back.
#include <tally/hdf5/reader.hpp>

#include "report_fixture.hpp"

namespace tally::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

TEST(MetricsFile, HoldsTheConfusionMatrixAndTheNames) {
  const TemporaryFolder folder;
  const RunReport report = small_report();
  write_metrics_file(report, folder / "metrics.h5");
  EXPECT_THAT(names_in(folder), ElementsAre("metrics.h5"));

  const hdf5::Reader reader(folder / "metrics.h5");
  const auto confusion = reader.dataset("/confusion");
  EXPECT_EQ(confusion.info().shape, (Shape{3, 3}));
  EXPECT_EQ(confusion.read_all<std::int64_t>(), report.metrics.results.confusion);
  EXPECT_EQ(reader.string_attribute("/confusion", "rows"), "true class");
  EXPECT_EQ(reader.string_attribute("/confusion", "columns"), "predicted class");
  EXPECT_EQ(reader.dataset("/class_names").read_strings(), report.metrics.class_names);
  EXPECT_EQ(reader.int64_attribute("/", "num_classes"), 3);
  EXPECT_EQ(reader.string_attribute("/", "state_digest"), report.digests.state);
  EXPECT_THAT(describe_metrics_file(folder / "metrics.h5"),
              ElementsAre(HasSubstr("metrics of tally"), "state digest " + report.digests.state,
                          "/class_names: string [3]", "/confusion: int64 [3, 3]"));
}

TEST(MetricsFile, HoldsSharesAndBins) {
  const TemporaryFolder folder;
  RunReport report = small_report();
  report.metrics.results.confusion_shares = {{"confusion_by_true", std::vector<double>(9, 0.25)}};
  report.metrics.results.reliability = {{0.0, 0.5, 0, 0, std::nullopt}, {0.5, 1.0, 9, 7, 0.75}};
  write_metrics_file(report, folder / "metrics.h5");

  const hdf5::Reader reader(folder / "metrics.h5");
  EXPECT_EQ(reader.dataset("/confusion_by_true").info().shape, (Shape{3, 3}));
  EXPECT_EQ(reader.dataset("/reliability/low").read_all<double>(), (std::vector{0.0, 0.5}));
  EXPECT_EQ(reader.dataset("/reliability/correct").read_all<std::int64_t>(),
            (std::vector<std::int64_t>{0, 7}));
  const auto confidence = reader.dataset("/reliability/confidence").read_all<double>();
  EXPECT_TRUE(std::isnan(confidence.at(0)));
  EXPECT_EQ(confidence.at(1), 0.75);
  EXPECT_THAT(describe_metrics_file(folder / "metrics.h5"),
              ::testing::Contains("/reliability/count: int64 [2]"));
}

TEST(MetricsFile, HoldsWhatTheStateDigestIsOf) {
  const TemporaryFolder folder;
  RunReport report = small_report();
  const auto bytes = std::as_bytes(std::span("more"));
  report.metrics.counts = {.layout = {"samples counters 0 2"},
                           .state = {3, -4},
                           .exchanged = {bytes.begin(), bytes.end()},
                           .exchanged_bytes = std::ssize(bytes)};
  write_metrics_file(report, folder / "all.h5");
  const hdf5::Reader all(folder / "all.h5");
  EXPECT_EQ(all.dataset("/state/layout").read_strings(), report.metrics.counts.layout);
  EXPECT_EQ(all.dataset("/state/values").read_all<std::int64_t>(), report.metrics.counts.state);
  EXPECT_EQ(all.dataset("/state/exchanged").read_all<std::uint8_t>(),
            (std::vector<std::uint8_t>{'m', 'o', 'r', 'e', 0}));

  report.metrics.counts.exchanged.clear();
  write_metrics_file(report, folder / "counts.h5");
  const hdf5::Reader counts(folder / "counts.h5");
  EXPECT_FALSE(counts.exists("/state/exchanged"));
  EXPECT_EQ(counts.int64_attribute("/state", "exchanged_bytes"), 5);
}

TEST(MetricsFile, WithoutAMatrixSaysSo) {
  const TemporaryFolder folder;
  RunReport report = small_report();
  report.metrics.results.confusion.clear();
  report.metrics.results.num_classes = 30000;
  report.metrics.class_names.clear();
  write_metrics_file(report, folder / "metrics.h5");
  EXPECT_THAT(hdf5::Reader(folder / "metrics.h5").children("/"), ElementsAre());
  EXPECT_EQ(describe_metrics_file(folder / "metrics.h5").back(),
            "no confusion matrix was kept for 30,000 classes (--metrics, --confusion-max-classes)");
}

TEST(MetricsFile, AFailureLeavesNothing) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "metrics.h5");
  try {
    write_metrics_file(small_report(), folder / "metrics.h5");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
  }
  EXPECT_THAT(names_in(folder), ElementsAre("metrics.h5"));
  EXPECT_THROW(write_metrics_file(small_report(), folder / "none/metrics.h5"), Error);
}

TEST(MetricsFile, AnotherFileIsNotDescribed) {
  const TemporaryFolder folder;
  write_text(folder / "x.h5", "words");
  EXPECT_THROW(describe_metrics_file(folder / "x.h5"), Error);
}

}  // namespace
}  // namespace tally::report
