// SPDX-License-Identifier: Apache-2.0
#include <tally/session/local_result.hpp>

#include <cerrno>
#include <cstdlib>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {

std::string spill_folder(const config::ResultOptions& options) {
  if (!options.spill_dir.empty()) return options.spill_dir;
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

void check_spill_folder(const config::ResultOptions& options) {
  const std::string folder = spill_folder(options);
  // Permissions do not tell whether a file system takes new files.
  if (open_scratch(folder)) return;
  throw Error(ErrorKind::output,
              format("the folder '{}' for records that outgrow memory is no writable folder ({})",
                     printable(folder), errno_text(errno)),
              "Name one on a local disk with --spill-dir.");
}

namespace {

// Each log holds so many bytes in memory before it goes on in a file.
constexpr std::int64_t kLogMemoryBytes = std::int64_t{64} << 20;

}  // namespace

predictions::PredictionLog empty_log(const EvaluationSession& session,
                                     std::vector<predictions::ColumnSpec> columns) {
  return {std::move(columns), spill_folder(session.config.results), kLogMemoryBytes};
}

// Texts, margins and detections stay empty: those who make the units fill them.
LocalUnits units_of(LocalSamples& samples, predictions::PredictionLog records,
                    predictions::PredictionLog retained) {
  return LocalUnits({.state = std::move(samples.state),
                     .log = std::move(records),
                     .retained = std::move(retained),
                     .first_index = samples.first_index,
                     .loop = std::move(samples.loop)});
}

std::vector<predictions::ColumnSpec> loop_columns(const EvaluationSession& session) {
  const auto capabilities = session.scoring.capabilities();
  if (capabilities.has_units() || capabilities.detections != nullptr) return {};
  return session.scoring.task->columns();
}

LocalSamples empty_samples(const EvaluationSession& session,
                           std::vector<predictions::ColumnSpec> log,
                           std::vector<predictions::ColumnSpec> retained) {
  return {.state = exact::State(session.scoring.task->layout()),
          .log = empty_log(session, std::move(log)),
          .retained = empty_log(session, std::move(retained)),
          .first_index = session.plan.grid->samples_of(session.plan.slice).first,
          .loop = {}};
}

}  // namespace tally::app
