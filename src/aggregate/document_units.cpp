// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/document_units.hpp>

#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>

namespace tally::app {

using predictions::RecordBatch;
using predictions::SavedRows;
using tasks::SequenceRecord;

std::vector<UnitSample<tasks::DocumentSums>> Documents::samples_in(const RecordBatch& window) {
  std::vector<UnitSample<Partial>> samples;
  for (const tasks::SequenceRecord& record : tasks::sequences_in(window.columns.at(0))) {
    samples.push_back({record.index, record.finite != 0, {record.unit, Partial(record)}});
  }
  return samples;
}

void Documents::score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
                      predictions::PredictionLog& log, predictions::PredictionLog& retained) {
  auto& set = *session_.data.set;
  const std::int64_t first = parts.front().unit;
  const auto ids = data::read_ragged(set, "/units/id", first, std::ssize(parts));
  const auto read = [&](std::string_view table) {
    return data::read_column<std::int64_t>(set, set.info().table(table), first, std::ssize(parts));
  };
  const auto bytes = read("/units/bytes"), words = read("/units/words");
  RecordBatch records, rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [unit, sums] = parts[i];
    const tasks::Document document{.unit = unit,
                                   .id = ids.text(static_cast<std::int64_t>(i)),
                                   .bytes = bytes[i],
                                   .words = words[i],
                                   .whole = unit != cut};
    const metrics::LanguageModelRecord row = row_of(document, sums);
    task_.count({&row, 1}, state_);
    task_.retain(row, rows);
    if (!log.columns().empty()) append_document(document, sums, records);
  }
  if (rows.num_rows > 0) retained.append(rows);
  if (records.num_rows > 0) log.append(records);
}

namespace {

// No document has more tokens.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 32;

void check_document(const SavedRows& saved, const SequenceRecord& sums) {
  const bool fit = 0 <= sums.right && sums.right <= sums.in_top5 && sums.in_top5 <= sums.tokens &&
                   sums.tokens <= kMostTokens && (sums.tokens > 0 || sums.loss == 0);
  if (fit) return;
  throw_saved_units_error(
      saved, format("row {} has {} tokens, {} correct, {} within the first five, nll {}", sums.unit,
                    sums.tokens, sums.right, sums.in_top5, sums.loss));
}

}  // namespace

SavedUnits<tasks::DocumentSums> Documents::read_saved(const SavedRows& saved, data::DataSet& set,
                                                      plan::SampleRange units) {
  const auto read = [&](std::string_view column) {
    return saved.read_each<std::int64_t>(column, units.first, units.count);
  };
  const auto tokens = read("tokens"), right = read("correct"), in_top5 = read("correct_top5");
  const auto bytes = read("bytes");
  const auto known_bytes = data::read_column<std::int64_t>(set, set.info().table("/units/bytes"),
                                                           units.first, units.count);
  const auto losses = saved.read_each<double>("nll", units.first, units.count);
  SavedUnits<tasks::DocumentSums> found;
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const SequenceRecord sums{.index = unit,
                              .unit = unit,
                              .tokens = tokens[i],
                              .right = right[i],
                              .in_top5 = in_top5[i],
                              .loss = losses[i],
                              .finite = std::isfinite(losses[i]) ? 1 : 0};
    check_document(saved, sums);
    if (bytes[i] < 0) {
      found.cut = cut_unit(saved, unit);
    } else if (bytes[i] != known_bytes[i]) {
      const auto known = known_bytes[i];
      throw_saved_units_error(
          saved, format("row {} is of {} bytes, document {} has {}", unit, bytes[i], unit, known),
          kNameOtherData);
    }
    found.parts.push_back({unit, tasks::DocumentSums(sums)});
  }
  return found;
}

}  // namespace tally::app
