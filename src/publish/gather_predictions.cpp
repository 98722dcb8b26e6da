#include "gather_predictions.hpp"

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/session/scoring_attributes.hpp>

#include "gather_columns.hpp"
#include "gather_text.hpp"

namespace tally::app {

std::optional<SavedPredictions> gather_predictions(const comm::Communicator& comm,
                                                   const EvaluationSession& session,
                                                   const LocalUnits& local,
                                                   const std::filesystem::path& path) {
  if (local.log.columns().empty()) return std::nullopt;
  auto writer = gather_columns(comm, local.log, session.scoring.num_units,
                               session.config.results.gather_window_bytes, path);
  std::vector<std::filesystem::path> texts;
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
  if (session.model.weights) attributes["weights_sha256"] = session.model.weights->digest();
  attributes.merge(scoring_attributes(session));
  return attributes;
}

}  // namespace tally::app
