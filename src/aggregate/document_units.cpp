#include <tally/aggregate/document_units.hpp>

#include <tally/base/checked_cast.hpp>
#include <tally/data/ragged.hpp>
#include <tally/data/read_column.hpp>

namespace tally::app {

using predictions::RecordBatch;

std::vector<UnitSample<tasks::DocumentSums>> Documents::samples_in(const RecordBatch& window) {
  std::vector<UnitSample<Found>> samples;
  for (const tasks::SequenceRecord& record : tasks::sequences_in(window.columns.at(0))) {
    samples.push_back({record.index, record.finite != 0, {record.unit, Found(record)}});
  }
  return samples;
}

void Documents::score(std::span<const UnitPart<Found>> parts, std::int64_t cut,
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

}  // namespace tally::app
