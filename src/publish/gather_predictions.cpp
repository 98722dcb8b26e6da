// SPDX-License-Identifier: Apache-2.0
#include "gather_predictions.hpp"

#include <optional>

#include <tally/base/build_info.hpp>
#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/current_work.hpp>
#include <tally/base/files.hpp>
#include <tally/comm/agree.hpp>
#include <tally/session/session.hpp>

namespace tally::app {
namespace {

using predictions::PredictionLog;
using predictions::PredictionsWriter;

// Collective. Returns the number of elements of each ragged column over all ranks, and 0 for other
// columns. The writer needs it to create datasets of their full size.
std::vector<std::int64_t> all_elements(const comm::Communicator& comm, const PredictionLog& local) {
  std::vector<std::int64_t> counts;
  for (const auto& spec : local.columns()) {
    counts.push_back(spec.ragged ? local.num_elements(std::ssize(counts)) : 0);
  }
  comm.sum_in_place(counts);
  return counts;
}

// Collective. Gathers all columns whose rows have one size; a window has the same rows of each of
// them. `writer` is set on rank 0, where alone the sink is called.
void gather_fixed(const comm::Communicator& comm, const PredictionLog& local,
                  std::int64_t window_bytes, std::optional<PredictionsWriter>& writer) {
  comm::RowSource source{.num_rows = local.num_rows(), .row_bytes = {}, .read = {}};
  std::vector<std::int64_t> columns;  // of the source, as they are numbered in the log
  for (std::int64_t c = 0; c < std::ssize(local.columns()); ++c) {
    const auto& spec = local.columns()[to_size(c)];
    if (spec.ragged) continue;
    columns.push_back(c);
    source.row_bytes.push_back(spec.row_bytes());
  }
  source.read = [&](std::int64_t column, std::int64_t first, std::int64_t count,
                    std::span<std::byte> out) {
    local.read(columns[to_size(column)], first, count, out);
  };
  comm::gather_in_order(
      comm, source, window_bytes,
      [&](std::int64_t column, std::int64_t num_rows, std::span<const std::byte> rows) {
        writer->append(columns[to_size(column)], num_rows, rows);
      });
}

// Collective. Gathers one ragged column: first the lengths of its rows, then its elements. Elements
// are rows of one size to the windows, so that a row may be larger than a window.
void gather_ragged(const comm::Communicator& comm, const PredictionLog& local, std::int64_t column,
                   std::int64_t window_bytes, std::optional<PredictionsWriter>& writer) {
  using Out = std::span<std::byte>;
  using In = std::span<const std::byte>;
  const comm::RowSource lengths{
      .num_rows = local.num_rows(),
      .row_bytes = {sizeof(std::int64_t)},
      .read = [&](std::int64_t, std::int64_t first, std::int64_t count, Out out) {
        local.read_lengths(column, first, count, out);
      }};
  comm::gather_in_order(comm, lengths, window_bytes,
                        [&](std::int64_t, std::int64_t num_rows, In rows) {
                          writer->append_lengths(column, num_rows, rows);
                        });
  gather_elements(comm, local, column, window_bytes,
                  [&](std::int64_t, std::int64_t num_elements, In rows) {
                    writer->append_elements(column, num_elements, rows);
                  });
}

}  // namespace

void gather_elements(const comm::Communicator& comm, const PredictionLog& local,
                     std::int64_t column, std::int64_t window_bytes, const comm::RowSink& sink) {
  const comm::RowSource elements{
      .num_rows = local.num_elements(column),
      .row_bytes = {local.columns()[to_size(column)].row_bytes()},
      .read = [&](std::int64_t, std::int64_t first, std::int64_t count, std::span<std::byte> out) {
        local.read_elements(column, first, count, out);
      }};
  comm::gather_in_order(comm, elements, window_bytes, sink);
}

std::optional<PredictionsWriter> gather_columns(const comm::Communicator& comm,
                                                const PredictionLog& local, std::int64_t num_rows,
                                                std::int64_t window_bytes,
                                                const std::filesystem::path& path) {
  const auto num_elements = all_elements(comm, local);
  std::optional<PredictionsWriter> writer;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) writer.emplace(path, local.columns(), num_rows, num_elements);
  });
  gather_fixed(comm, local, window_bytes, writer);
  for (std::int64_t c = 0; c < std::ssize(local.columns()); ++c) {
    if (local.columns()[to_size(c)].ragged) gather_ragged(comm, local, c, window_bytes, writer);
  }
  return writer;
}

void gather_json(const comm::Communicator& comm, JsonForm form,
                 const predictions::PredictionLog& local, std::int64_t column,
                 std::int64_t window_bytes, const std::filesystem::path& path) {
  // Rank 0 opens the file before any rank sends, so that a failure is agreed on and nobody waits.
  std::optional<PartialFile> file;
  comm::agree_on(comm, [&] {
    if (!comm.is_root()) return;
    file.emplace(path);
    file->append(form == JsonForm::object ? "{" : "[");
  });
  gather_elements(comm, local, column, window_bytes,
                  [&](std::int64_t, std::int64_t, std::span<const std::byte> bytes) {
                    file->append(as_text(bytes));
                  });
  comm::agree_on(comm, [&] {
    if (!file) return;
    file->append(form == JsonForm::object ? "\n}\n" : "\n]\n");
    file->finish();
  });
}

std::optional<SavedPredictions> gather_predictions(const comm::Communicator& comm,
                                                   const EvaluationSession& session,
                                                   const LocalUnits& local,
                                                   const std::filesystem::path& path) {
  // All ranks have the same columns, so that all return here or none.
  if (local.log.columns().empty()) return std::nullopt;
  const WorkScope file("predictions.h5");
  auto writer = gather_columns(comm, local.log, session.scoring.num_units,
                               session.config.results.gather_window_bytes, path);
  std::vector<std::filesystem::path> texts;
  // COCO's results are a list; answers are the members of one object, by the id of their question.
  const auto form =
      session.scoring.capabilities().detections != nullptr ? JsonForm::list : JsonForm::object;
  const auto num_texts = local.texts ? std::ssize(local.texts->columns()) : 0;
  for (std::int64_t column = 0; column < num_texts; ++column) {
    texts.push_back(path.parent_path() / local.texts->columns()[to_size(column)].name);
    gather_json(comm, form, *local.texts, column, session.config.results.gather_window_bytes,
                texts.back());
  }
  if (!writer) return std::nullopt;
  auto digest = writer->digest();
  return SavedPredictions{std::move(*writer), std::move(digest), std::move(texts)};
}

std::map<std::string, std::string> prediction_attributes(const EvaluationSession& session,
                                                         const std::string& digest) {
  std::map<std::string, std::string> attributes{
      {"tally_version", std::string(build_info().version)}, {"model", session.model.model.path},
      {"model_sha256", session.model.model.digest},         {"data", session.data.file.path},
      {"data_identity", session.data.file.digest},          {"digest", digest}};
  if (session.data.samples) attributes["data_samples"] = *session.data.samples;
  if (session.model.weights) attributes["weights_sha256"] = session.model.weights->digest();
  attributes.merge(scoring_attributes(session));
  return attributes;
}

}  // namespace tally::app
