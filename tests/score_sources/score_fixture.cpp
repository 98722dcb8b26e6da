// SPDX-License-Identifier: Apache-2.0
#include "score_fixture.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/score_sources/open_saved_predictions.hpp>
#include <tally/setup/device_and_reducer.hpp>
#include <tally/setup/make_scoring.hpp>
#include <tally/setup/open_inputs.hpp>
#include <tally/setup/open_session.hpp>
#include <tally/setup/warm_up.hpp>

namespace tally::app {

namespace fs = std::filesystem;

ScoreTest::ScoreTest()
    : folder_(fs::temp_directory_path() /
              world().broadcast("tally-score-" + std::to_string(::getpid()))) {
  if (world().is_root()) fs::create_directory(folder_);
  world().barrier();
}

ScoreTest::~ScoreTest() {
  world().barrier();
  if (world().is_root()) fs::remove_all(folder_);
}

std::string ScoreTest::file(const std::string& name,
                            const std::function<void(const fs::path& path)>& write) {
  const fs::path path = folder_ / name;
  if (world().is_root()) {
    fs::create_directories(path.parent_path());
    write(path);
  }
  world().barrier();
  return path.string();
}

std::string ScoreTest::text_file(const std::string& name, const std::string& text) {
  return file(name, [&](const fs::path& path) { std::ofstream(path, std::ios::binary) << text; });
}

EvaluationSession ScoreTest::open(const std::string& predictions, std::int64_t batch_size) {
  config_.files.predictions = predictions;
  config_.execution.bucket_batches = 1;  // as `tally score` does
  EvaluationSession session(config_);
  session.hardware = place_ranks(world(), "cpu", notes_);
  session.hardware.stream.emplace(session.hardware.device);
  session.data = open_data(world(), config_);
  const std::string task = task_in_force("", session.data.set->info());
  auto opened = open_saved_predictions(world(), session.config, task, session.data, notes_);
  session.model = std::move(opened.model);
  session.source = std::move(opened.source);
  if (opened.set) session.data.set = std::move(opened.set);
  session.scoring =
      make_scoring(world(), config_, task, session.data.set->info(), opened.outputs, {});
  session.execution.batch_size = batch_size;
  if (session.source->runs_predictor()) warm_up(world(), session, notes_);
  session.reducer = choose_reducer(world(), session, notes_);
  plan_batches(world(), session, notes_);
  return session;
}

Scored ScoreTest::score(const EvaluationSession& session) {
  BatchCounts batches;
  auto samples = session.source->score(session, batches);
  EXPECT_EQ(std::ssize(batches.all()), session.plan.slice.count);
  Scored scored{session.source->complete(world(), session, std::move(samples)), {}, {}};
  scored.global = merge_results(world(), session, scored.local);
  compute_post_loop_metrics(world(), session, scored.local, scored.global);
  scored.ids = session.source->match_ids(world(), session, notes_);
  return scored;
}

std::string ScoreTest::loop_refusal(const EvaluationSession& session) {
  std::string said;
  BatchCounts batches;
  try {
    session.source->score(session, batches);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::dataset) << error.what();
    said = error.what();
  }
  std::string lines;
  for (const auto& text : world().gather(said)) {
    lines += lines.empty() || text.empty() ? text : "\n" + text;
  }
  return world().broadcast(lines);
}

std::string ScoreTest::all_ranks(const std::string& local) {
  const auto all = world().gather(local);
  return std::accumulate(all.begin(), all.end(), std::string());
}

std::string refusal_of(ErrorKind kind, const std::function<void()>& step) {
  const comm::SuppressedFailures suppressed(kind);
  try {
    step();
  } catch (const comm::AgreedFailure& failure) {
    EXPECT_EQ(failure.kind, kind);
    return failure.suppressed_message;
  }
  return "nothing was refused";
}

std::optional<double> value_of(const Scored& scored, std::string_view name) {
  const metrics::MetricValue* const found = scored.results().find(name);
  EXPECT_NE(found, nullptr) << name;
  return found == nullptr ? std::nullopt : found->value;
}

namespace {

std::int64_t place_of(const predictions::PredictionLog& log, std::string_view column) {
  const auto found = std::ranges::find(log.columns(), column, &predictions::ColumnSpec::name);
  if (found == log.columns().end()) throw std::out_of_range(std::string(column));
  return found - log.columns().begin();
}

}  // namespace

std::string texts_in(const predictions::PredictionLog& log, std::string_view column,
                     std::string_view end) {
  const std::int64_t place = place_of(log, column);
  std::vector<std::int64_t> lengths(to_size(log.num_rows()));
  log.read_lengths(place, 0, log.num_rows(), std::as_writable_bytes(std::span(lengths)));
  std::string text(to_size(log.num_elements(place)), ' '), rows;
  log.read_elements(place, 0, std::ssize(text), std::as_writable_bytes(std::span(text)));
  std::size_t begin = 0;
  for (const std::int64_t length : lengths) {
    rows.append(text, begin, to_size(length)).append(end);
    begin += to_size(length);
  }
  return rows;
}

std::string integers_in(const predictions::PredictionLog& log, std::string_view column) {
  std::vector<std::int64_t> values(to_size(log.num_rows()));
  log.read(place_of(log, column), 0, log.num_rows(), std::as_writable_bytes(std::span(values)));
  std::string rows;
  for (const std::int64_t value : values) rows += format("{},", value);
  return rows;
}

}  // namespace tally::app
